// A button beside each block of commands or code that copies it, without prompts and outputs.
for (const block of document.querySelectorAll(".highlight pre")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.style = "position: absolute; top: .3rem; right: .3rem; cursor: pointer";
  button.addEventListener("click", async () => {
    const lines = block.textContent.split("\n");
    const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    await navigator.clipboard.writeText((commands.length ? commands : lines).join("\n").trim());
    button.textContent = "Copied";
  });
  block.tabIndex = 0;
  block.parentElement.style.position = "relative";
  block.parentElement.append(button);
}
