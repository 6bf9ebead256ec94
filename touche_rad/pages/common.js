"use strict";
/* What the scripts of all pages use. */
const rad = {};
const $ = (id) => document.getElementById(id);

/* Control characters and direction overrides, written out so that they change nothing else. */
rad.visible = (text) =>
  String(text)
    .replace(/\r\n/g, "\n")
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g,
      (letter) => `‹U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`,
    );

rad.short = (text, most) =>
  text.length > most ? `${text.slice(0, most).replace(/\s+\S*$/, "")} …` : text;

rad.island = (id) => JSON.parse($(id).textContent);

/* Ask this server: rad.request("queue"), or with a body. rad.failure says why there is no reply. */
rad.request = async (path, body, signal) => {
  const reply = await fetch(
    path,
    body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    },
  );
  if (!reply.ok) {
    const { detail } = await reply.json().catch(() => ({}));
    const why = typeof detail === "string" ? `: ${detail}` : "";
    throw new Error(`The server refused it (status ${reply.status})${why}.`);
  }
  return reply;
};
rad.failure = (error) =>
  error instanceof TypeError
    ? "The server cannot be reached. Does it still run? A restarted one can have another address."
    : error.message;

/* The address: #TARGET&name=value&... The target is an element's id. */
rad.address = {
  read() {
    const values = new URLSearchParams(location.hash.slice(1));
    const at = [...values.keys()].find((name) => !values.get(name));
    values.delete(at);
    return { ...Object.fromEntries(values), at };
  },
  text({ at = "", ...rest }) {
    const values = new URLSearchParams(Object.entries(rest).filter(([, value]) => value));
    return `#${[encodeURIComponent(at), String(values)].filter(Boolean).join("&")}`;
  },
  write(values) {
    history.replaceState(history.state, "", rad.address.text(values));
  },
};

/* Keys: rad.keys({ "j": ["Next turn", next], "Shift+1": [...]); rad.keys.clear() forgets them.
   Letters and signs are named as typed; digits as "1" and "Shift+1" on any keyboard. */
{
  const actions = new Map();
  const typing = (target) =>
    target instanceof Element && target.closest("input:not([type=checkbox]), textarea, select");
  const names = (event) => {
    const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
    return [digit && (event.shiftKey ? "Shift+" : "") + digit[1], event.key];
  };
  const dialog = $("help");
  const help = () => {
    if (dialog.open) {
      dialog.close();
      return;
    }
    rad.mount(
      [...actions].map(
        ([name, [what]]) =>
          rad.html`<dt><kbd>${name.replace("Arrow", "Arrow ")}</kbd></dt><dd>${what}</dd>`,
      ),
      dialog.querySelector(".keys"),
    );
    dialog.showModal();
  };
  rad.keys = (map) =>
    Object.entries({ "?": ["Show or hide this help", help], ...map }).forEach((action) =>
      actions.set(...action),
    );
  rad.keys.clear = () => actions.clear();
  rad.keys({});
  $("keys").addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    if (
      event.isComposing ||
      event.altKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.defaultPrevented
    ) {
      return;
    }
    const name = names(event).find((named) => actions.has(named));
    if (
      !name ||
      typing(event.target) ||
      (name !== "?" && document.querySelector("dialog[open], :popover-open")) ||
      (/^(?:Enter| )$/.test(event.key) && event.target.closest("button, a, summary"))
    ) {
      return;
    }
    event.preventDefault();
    actions.get(name)[1](event);
  });
}

/* Words that belong together: an element's data-marks names its groups.
   Hover or focus lights them. */
{
  const marked = (element) => element.closest?.("[data-marks]");
  const light = ({ target }) => {
    const source = marked(target) ?? marked(document.activeElement);
    const groups = source?.dataset.marks.split(" ");
    const scope = source?.closest("[data-scope]") ?? document;
    for (const part of document.querySelectorAll("[data-marks]")) {
      const isIn = (group) => scope.contains(part) && groups?.includes(group);
      part.classList.toggle("lit", part.dataset.marks.split(" ").some(isIn));
    }
  };
  document.addEventListener("mouseover", light);
  document.addEventListener("focusin", light);
}

/* Elements that stick to the top stand below the bar. */
new ResizeObserver(([{ target }]) =>
  document.documentElement.style.setProperty("--bar", `${target.offsetHeight}px`),
).observe(document.querySelector(".bar"));
