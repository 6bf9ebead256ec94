"use strict";
/* What each page's script uses: rad.visible, rad.island, rad.keys, rad.address. */
const rad = {};

/* Control characters and direction overrides, written out so that they change nothing else. */
rad.visible = (text) =>
  String(text)
    .replace(/\r\n/g, "\n")
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g,
      (one) => `‹U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`,
    );

rad.island = (id) => JSON.parse(document.getElementById(id).textContent);

/* The address: #TARGET&name=value&... The target is an element's id; plain #TARGET works too. */
rad.address = {
  read() {
    const values = {};
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      try {
        if (at > 0) {
          values[decodeURIComponent(part.slice(0, at))] = decodeURIComponent(
            part.slice(at + 1).replace(/\+/g, " "),
          );
        } else if (part) {
          values.at = decodeURIComponent(part);
        }
      } catch {
        /* a broken escape is left out */
      }
    }
    return values;
  },
  text(values) {
    const { at, ...rest } = values;
    const pairs = Object.entries(rest)
      .filter(([, value]) => value !== "" && value !== null && value !== undefined)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    return `#${[at ? encodeURIComponent(at) : "", ...pairs].filter(Boolean).join("&")}`;
  },
  write(values) {
    history.replaceState(history.state, "", rad.address.text(values));
  },
};

/* Keys: rad.keys({ "j": ["Next turn", next], "Shift+1": [...]).
   Letters and signs are named as typed; digits as "1" and "Shift+1" on any keyboard.
   Keys do nothing while the reader types in a field. "?" shows all of them. */
{
  const actions = new Map();
  const typing = (target) =>
    target instanceof Element &&
    target.closest(
      "input:not([type=checkbox],[type=radio],[type=button]), textarea, select, [contenteditable]",
    );
  const names = (event) => {
    const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
    return [digit && (event.shiftKey ? "Shift+" : "") + digit[1], event.key];
  };
  rad.keys = (map) => {
    for (const [name, action] of Object.entries(map)) {
      actions.set(name, action);
    }
  };
  rad.keys.help = () => {
    const open = document.getElementById("rad-keys");
    if (open) {
      open.close();
      return;
    }
    const dialog = document.createElement("dialog");
    dialog.id = "rad-keys";
    dialog.setAttribute("aria-labelledby", "rad-keys-title");
    dialog.addEventListener("close", () => dialog.remove());
    const rows = [...actions].map(
      ([name, [what]]) => rad.html`<dt><kbd>${name}</kbd></dt><dd>${what}</dd>`,
    );
    rad.mount(
      rad.html`<h2 id="rad-keys-title">Keys</h2>
        <dl class="keys">${rows}</dl>
        <p class="row end"><button onClick=${() => dialog.close()}>Close</button></p>`,
      dialog,
    );
    document.body.append(dialog);
    dialog.showModal();
  };
  rad.keys({ "?": ["Show or hide this help", rad.keys.help] });
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
    const name = names(event).find((one) => actions.has(one));
    if (!name || typing(event.target)) {
      return;
    }
    if (name !== "?" && document.querySelector("dialog[open], :popover-open")) {
      return;
    }
    if (/^(?:Enter| )$/.test(event.key) && event.target.closest("button, a, summary")) {
      return;
    }
    event.preventDefault();
    actions.get(name)[1](event);
  });
}

/* Words that belong together: an element's data-marks names its groups.
     Hover or focus lights them. */
{
  const light = (element) => {
    const wanted = element ? element.dataset.marks.split(" ").filter(Boolean) : [];
    const scope = element ? element.closest("[data-scope]") || document : document;
    for (const one of document.querySelectorAll(".lit")) {
      one.classList.remove("lit");
    }
    for (const group of wanted) {
      for (const one of scope.querySelectorAll(`[data-marks~="${CSS.escape(group)}"]`)) {
        one.classList.add("lit");
      }
    }
  };
  const of = (event) => event.target instanceof Element && event.target.closest("[data-marks]");
  document.addEventListener("mouseover", (event) => {
    const one = of(event);
    if (one) {
      light(one);
    }
  });
  document.addEventListener("mouseout", (event) => {
    if (of(event)) {
      const active = document.activeElement;
      light(active && active.matches("[data-marks]") ? active : null);
    }
  });
  document.addEventListener("focusin", (event) => {
    light(of(event) || null);
  });
}

document.getElementById("keys").addEventListener("click", () => rad.keys.help());
/* Elements that stick to the top stand below the bar. */
new ResizeObserver(([{ target }]) =>
  document.documentElement.style.setProperty("--bar", `${target.offsetHeight}px`),
).observe(document.querySelector(".bar"));
