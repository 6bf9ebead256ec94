for (const figure of document.querySelectorAll("figure.debgraph:not([data-live])")) {
  figure.dataset.live = "";
  const svg = figure.querySelector(".dg-scroll svg");
  const told = figure.querySelector(".dg-told");
  const nodes = [...svg.querySelectorAll(".dg-node")];
  const edges = [...svg.querySelectorAll(".dg-edge")];
  const asked = told.textContent;
  let held = null;

  function follow(node) {
    const ids = new Set(node ? node.dataset.chain.split(" ") : []);
    svg.classList.toggle("dg-following", node !== null);
    for (const one of nodes) {
      one.classList.toggle("dg-on", ids.has(one.dataset.id));
      one.classList.toggle("dg-held", one === held);
    }
    for (const edge of edges) {
      edge.classList.toggle("dg-on", ids.has(edge.dataset.from) && ids.has(edge.dataset.to));
    }
    told.textContent = node ? node.getAttribute("aria-label") : asked;
  }

  function hold(node) {
    held = held === node ? null : node;
    follow(held);
  }

  for (const node of nodes) {
    node.addEventListener("mouseenter", () => { if (!held) follow(node); });
    node.addEventListener("mouseleave", () => { if (!held) follow(null); });
    node.addEventListener("focus", () => { if (!held) follow(node); });
    node.addEventListener("blur", () => { if (!held) follow(null); });
    node.addEventListener("click", () => hold(node));
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        hold(node);
      }
    });
  }
  figure.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hold(held);
  });
  svg.addEventListener("click", (event) => {
    if (held && !event.target.closest(".dg-node")) hold(held);
  });
}
