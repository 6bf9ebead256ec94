"use strict";
/* What each page's script uses: rad.h, rad.measure, rad.island, rad.keys, rad.address, rad.sort. */
const rad = {};

/* Control characters and direction overrides, written out so that they change nothing else. */
rad.visible = (text) =>
  String(text)
    .replace(/\r\n/g, "\n")
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g,
      (one) => `‹U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`,
    );

/* Make an element; text is only ever set as text, and links have fixed targets only. */
rad.h = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value);
    } else if (name === "dataset") {
      Object.assign(element.dataset, value);
    } else if (name === "value" || name === "checked" || name === "disabled") {
      element[name] = value;
    } else if (/^on/i.test(name) || name === "style" || name === "srcdoc") {
      throw new Error(`${name} is not allowed`);
    } else if (
      (name === "href" || name === "src") &&
      !/^(#|\/(?!\/)|\.\/|data:,|blob:)/.test(value)
    ) {
      throw new Error(`${value}: expected a link inside the page`);
    } else {
      element.setAttribute(name, value === true ? "" : rad.visible(value));
    }
  }
  rad.add(element, children);
  return element;
};
rad.add = (element, children) => {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) {
      continue;
    }
    element.append(child instanceof Node ? child : document.createTextNode(rad.visible(child)));
  }
  return element;
};
rad.replace = (element, ...children) => {
  element.replaceChildren();
  return rad.add(element, children);
};

/* Keep an element's height in a property of the page.
     A change makes the browser style every element. */
rad.measure = (name, element) => {
  const height = `${element.offsetHeight}px`,
    root = document.documentElement;
  if (root.style.getPropertyValue(name) !== height) {
    root.style.setProperty(name, height);
  }
};

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
  /* Show the element that the address names, below the bar. */
  show() {
    document.getElementById(rad.address.read().at)?.scrollIntoView({ block: "start" });
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
    const rows = [...actions].map(([name, [what]]) => [
      rad.h("dt", null, rad.h("kbd", null, name)),
      rad.h("dd", null, what),
    ]);
    const dialog = rad.h(
      "dialog",
      { id: "rad-keys", "aria-labelledby": "rad-keys-title", onclose: () => dialog.remove() },
      rad.h("h2", { id: "rad-keys-title" }, "Keys"),
      rad.h("dl", { class: "keys" }, rows),
      rad.h(
        "p",
        { class: "row end" },
        rad.h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
      ),
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

/* Sortable tables: <table data-sortable>; cells may have data-value.
     "–" and empty cells come last. */
rad.sort = (table) => {
  const value = (row, at) => {
    const cell = row.cells[at];
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text.replace(/,/g, "").replace("−", "-").replace(/%$/, ""));
    return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = rad.h("button", { type: "button", class: "sort" }, head.textContent);
    rad.replace(head, button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const down = head.ariaSort ? head.ariaSort === "ascending" : numeric;
      for (const other of table.tHead.rows[0].cells) {
        other.removeAttribute("aria-sort");
      }
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].map((row) => [value(row, at), row]);
        rows.sort(([a], [b]) =>
          a === null || b === null
            ? (a === null) - (b === null)
            : (typeof a === "number" && typeof b === "number"
                ? a - b
                : String(a).localeCompare(String(b), "en", { numeric: true })) * (down ? -1 : 1),
        );
        body.append(...rows.map(([, row]) => row));
      }
    });
  });
};

document.getElementById("keys").addEventListener("click", () => rad.keys.help());
addEventListener("DOMContentLoaded", () => {
  const bar = document.querySelector(".bar");
  if (bar) {
    new ResizeObserver(() => rad.measure("--bar", bar)).observe(bar);
  }
  document.querySelectorAll("table[data-sortable]").forEach(rad.sort);
  rad.address.show();
});
addEventListener("hashchange", rad.address.show);
