"use strict";
/* Browse many items: tools above, a list of which only the visible rows exist, and one item at a
   time in the reader. The address keeps the item and the filter: #d3-t2&run=a&maxim=quality. */
rad.report = { browsers: [] };

/* Parts of the data: an element of this page, or a file in data/ that calls radPart. In a page that
   is one file, the parts are behind the scripts, except the first. */
{
  const parts = new Map(), waiting = new Map(), KEPT = 24;
  window.radPart = (name, value) => { waiting.get(name)?.(value); waiting.delete(name); };
  const parsed = document.readyState === "loading" ? new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve)) : null;
  const inside = document.querySelector("script[id^=part-]") !== null;
  const load = async (name) => {
    if (!inside) { return fetchPart(name); }
    const find = () => document.getElementById(`part-${name}`);
    if (!find()?.nextElementSibling) { await parsed; }  // the browser may have read half of it
    return JSON.parse(find().textContent);
  };
  const fetchPart = (name) => new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = () => script.remove();
    script.onerror = () => { waiting.delete(name); reject(new Error(`data/${name}.js cannot be read: keep the folder data beside this page`)); };
    document.head.append(script);
  });
  rad.report.part = (name) => {
    const found = parts.get(name) || load(name);
    parts.delete(name);
    parts.set(name, found);
    found.catch(() => parts.delete(name));
    if (parts.size > KEPT) { parts.delete(parts.keys().next().value); }
    return found;
  };
}

/* Wait until the browser has drawn and handled input. */
rad.report.pause = () => new Promise((resolve) => setTimeout(resolve, 0));
rad.report.whenIdle = window.requestIdleCallback ? (call) => requestIdleCallback(call, { timeout: 1000 }) : (call) => setTimeout(call, 40);

/* Milliseconds that a search takes before the browser may draw and handle input. */
const SLICE = 6;
/* Milliseconds after which the neighbours of an item are made: it is drawn first, and keys that follow
   each other quickly wait for nothing. */
const AFTER = 60;

rad.report.Browser = class {
  /* spec: { section, prefix, noun, items, fields, keys, matches(item, state), text(item) for the
     search, row(item, match), render(item, match, state) } */
  constructor(spec) {
    Object.assign(this, spec);
    this.nouns = this.noun === "query" ? "queries" : `${this.noun}s`;
    this.found = [];
    this.at = -1;
    this.version = 0;
    this.rowHeight = 62;
    this.listHeight = 0;
    this.drawn = new Map();
    this.prepared = [];
    this.build();
    rad.report.browsers.push(this);
  }

  build() {
    this.status = rad.h("span", { class: "soft", role: "status" });
    this.search = rad.h("input", { type: "search", name: "text", class: "grow", placeholder: `Search the ${this.nouns} ( / )`, "aria-label": `Search the ${this.nouns}`, autocomplete: "off" });
    this.inputs = new Map([["text", this.search]]);
    const fields = this.fields.map((field) => this.field(field));
    const filter = rad.h("details", { class: "filter" }, this.summary = rad.h("summary", { class: "button" }, "Filter"),
      rad.h("div", { class: "fields" }, fields,
        rad.h("button", { type: "button", onclick: () => this.reset() }, "Clear the filter")));
    this.tools = rad.h("form", { class: "tools no-print", role: "search", "aria-label": `Filter the ${this.nouns}`, onsubmit: (event) => event.preventDefault() },
      rad.h("div", { class: "row" }, this.search, filter, this.extra || null,
        rad.h("span", { class: "pager" },
          rad.h("button", { type: "button", "aria-label": `Previous ${this.noun}`, onclick: () => this.step(-1) }, "‹"),
          this.status,
          rad.h("button", { type: "button", "aria-label": `Next ${this.noun}`, onclick: () => this.step(1) }, "›"))));
    this.rows = rad.h("ol");
    this.list = rad.h("nav", { class: "list no-print", "aria-label": `List of ${this.nouns}`, tabindex: "0" }, this.rows);
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("li");
      if (!row) { return; }
      event.preventDefault();
      this.go(Number(row.getAttribute("aria-posinset")) - 1);
    });
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    this.reader = rad.h("div", { class: "reader" });
    rad.add(this.section, [this.tools, rad.h("div", { class: "panes" }, this.list, this.reader)]);
    let timer = 0;
    this.tools.addEventListener("input", (event) => {
      clearTimeout(timer);
      this.version += 1;  // a search that goes on would delay the letters that follow
      timer = setTimeout(() => this.changed(), event.target === this.search ? 120 : 0);
    });
    new ResizeObserver(() => rad.measure("--tools", this.tools)).observe(this.tools);
    new ResizeObserver(() => { this.listHeight = this.list.clientHeight; this.draw(); }).observe(this.list);
  }

  field({ name, label, options }) {
    const input = options
      ? rad.h("select", { name }, options.map(([value, text]) => rad.h("option", { value }, text)))
      : rad.h("input", { type: "checkbox", name });
    this.inputs.set(name, input);
    return options ? rad.h("label", { class: "field" }, label, input) : rad.h("label", { class: "check" }, input, ` ${label}`);
  }

  /* The filter as the fields show it; empty values are left out. */
  read() {
    const state = {};
    for (const [name, input] of this.inputs) {
      const value = input.type === "checkbox" ? (input.checked ? "1" : "") : input.value.trim();
      if (value) { state[name] = value; }
    }
    return state;
  }

  write(state) {
    for (const [name, input] of this.inputs) {
      const value = state[name] || "";
      if (input.type === "checkbox") { input.checked = value === "1"; }
      else if (input.value.trim() !== value) { input.value = value; }
    }
  }

  reset() { this.write({}); this.changed(); }

  changed() { this.filter(this.read(), null); }

  own(at) { return new RegExp(`^[${this.prefix}](\\d+)(?:-t(\\d+))?$`).exec(at || ""); }

  /* Follow the address: its filter, and the item that it names. */
  async follow(values) {
    const { at, ...state } = values;
    this.write(state);
    await this.filter(this.read(), this.own(at), true);
  }

  /* Find the items that match; a text is searched in the background. */
  async filter(state, place, following = false) {
    const version = ++this.version;
    this.state = state;
    const names = Object.keys(state).filter((name) => name !== "text" && this.fields.some((field) => field.name === name));
    this.summary.textContent = names.length ? `Filter (${names.length})` : "Filter";
    const kept = place ? Number(place[1]) - 1 : this.current?.index;
    const candidates = [];
    for (const item of this.items()) {
      const match = this.matches(item, state);
      if (match) { candidates.push({ item, match, index: item.index }); }
    }
    if (!state.text) { await this.show(candidates, kept, place, following); return; }
    const found = [];
    let last = performance.now(), shown = false;
    for (const one of candidates) {
      const match = await this.textMatch(one.item, one.match, state.text.toLowerCase());
      if (version !== this.version) { return; }
      if (match) { found.push({ ...one, match }); }
      if (performance.now() - last > SLICE) {
        this.status.textContent = `searching: ${found.length} found`;
        if (!shown && found.length > 20) { shown = true; await this.show([...found], kept, place, following); }
        await rad.report.pause();
        last = performance.now();
      }
      if (version !== this.version) { return; }
    }
    await this.show(found, kept, place, following && !shown);
  }

  async show(found, kept, place, following) {
    this.found = found;
    this.drawn.clear();
    this.rows.replaceChildren();
    const at = found.findIndex((one) => one.index === kept);
    this.rows.style.height = `${found.length * this.rowHeight}px`;
    if (place && at < 0 && this.byIndex(kept)) {
      this.at = -1;
      await this.open({ item: this.byIndex(kept), match: null, index: kept }, place, following);
    } else {
      this.at = at >= 0 ? at : found.length ? 0 : -1;
      if (this.state.text) {  // the list and the reader in two frames: letters may follow
        const version = this.version;
        this.reveal();
        await rad.report.pause();
        if (version !== this.version) { return; }
      }
      await this.open(found[this.at], place, following);
    }
  }

  async open(one, place, following) {
    const version = this.version;
    this.current = one;
    this.reveal();
    this.count();
    if (!one) {
      rad.replace(this.reader, rad.h("p", { class: "notice" }, `No ${this.noun} matches the filter. `,
        rad.h("button", { type: "button", onclick: () => this.reset() }, "Clear the filter")));
    } else {
      let content;
      try { content = await this.prepare(one); }
      catch (error) { content = rad.ui.notice(error.message, "error"); }
      if (version !== this.version || this.current !== one) { return; }
      this.reader.replaceChildren(...[content].flat());
    }
    if (!following || place) { this.remember(place ? place[0] : one ? `${this.letter()}${one.index + 1}` : ""); }
    if (place) { this.scrollTo(place[0]); }
    setTimeout(() => this.prepareNear(version), AFTER);
  }

  /* Make the elements of the items before and after the open one. */
  prepareNear(version) {
    for (const by of [1, -1]) {
      rad.report.whenIdle(() => {
        const near = version === this.version && this.found[this.at + by];
        if (near) { this.prepare(near).catch(() => {}); }
      });
    }
  }

  /* Make the elements of an item, or return those that were made ahead after the last key. */
  prepare(one) {
    if (!one.content) {
      one.content = this.render(one.item, one.match, this.state)
        .then((made) => [...rad.add(document.createDocumentFragment(), [made]).childNodes]);
      one.content.catch(() => { one.content = null; });
      this.prepared.push(one);
      if (this.prepared.length > 6) { this.prepared.shift().content = null; }
    }
    return one.content;
  }

  letter() { return this.prefix[0]; }

  remember(at) {
    this.place = at;
    rad.address.write({ at: at || this.section.id, ...this.state });
  }

  /* Show an element of the reader below the sticky bars. */
  scrollTo(id) {
    const target = document.getElementById(id) || this.reader;
    rad.measure("--bar", document.querySelector(".bar"));
    rad.measure("--tools", this.tools);
    target.scrollIntoView({ block: "start", behavior: "instant" });
    for (const one of this.reader.querySelectorAll(".here")) { one.classList.remove("here"); }
    if (/-t\d+$/.test(id)) { target.classList.add("here"); }
  }

  count() {
    const total = this.found.length.toLocaleString("en");
    this.status.textContent = this.at < 0 ? `${total} ${this.found.length === 1 ? this.noun : this.nouns}` : `${(this.at + 1).toLocaleString("en")} of ${total}`;
  }

  async step(by) {
    const at = Math.min(Math.max(this.at + by, 0), this.found.length - 1);
    if (at !== this.at && this.found.length) { await this.go(at); }
  }

  /* Open the item at a place of the list. */
  async go(at) {
    this.version += 1;
    this.at = at;
    const one = this.found[at];
    await this.open(one, [`${this.letter()}${one.index + 1}`], false);
  }

  /* Go to the next or previous matching turn, also in the next debate. */
  async turn(by) {
    const turns = [...this.reader.querySelectorAll(".turn:not(.other)")];
    const here = turns.findIndex((one) => one.classList.contains("here"));
    const next = turns[here < 0 && by < 0 ? -1 : here + by];
    if (next) { this.scrollTo(next.id); this.remember(next.id); return; }
    if (this.at + by < 0 || this.at + by >= this.found.length) { return; }
    await this.step(by);
    const fresh = [...this.reader.querySelectorAll(".turn:not(.other)")];
    const first = by > 0 ? fresh[0] : fresh[fresh.length - 1];
    if (first) { this.scrollTo(first.id); this.remember(first.id); }
  }

  /* Scroll the list so that the current row is visible. */
  reveal() {
    const top = this.at * this.rowHeight, height = this.listHeight;
    let seen = this.list.scrollTop;
    if (this.at >= 0 && (top < seen || top + this.rowHeight > seen + height)) {
      seen = Math.max(0, top - height / 3);
      this.list.scrollTop = seen;
    }
    this.draw(seen);
  }

  /* Draw the visible rows of the list; rows that are there stay. */
  draw(seen = this.list.scrollTop) {
    const first = Math.max(0, Math.floor(seen / this.rowHeight) - 3);
    const end = Math.min(this.found.length, first + Math.ceil(this.listHeight / this.rowHeight) + 6);
    for (const [place, row] of this.drawn) {
      if (place < first || place >= end) { row.remove(); this.drawn.delete(place); }
    }
    for (let place = first; place < end; place += 1) {
      let row = this.drawn.get(place);
      if (!row) {
        row = this.makeRow(place);
        this.drawn.set(place, row);
        this.rows.insertBefore(row, this.drawn.get(place + 1) || null);
      }
      const current = place === this.at;
      if (row.firstChild.hasAttribute("aria-current") !== current) {
        if (current) { row.firstChild.setAttribute("aria-current", "true"); } else { row.firstChild.removeAttribute("aria-current"); }
      }
    }
  }

  makeRow(place) {
    const one = this.found[place];
    const row = rad.h("li", { "aria-setsize": String(this.found.length), "aria-posinset": String(place + 1) },
      rad.h("a", { href: `#${this.letter()}${one.index + 1}` }, this.row(one.item, one.match)));
    row.style.top = `${place * this.rowHeight}px`;
    return row;
  }
};

/* The browser whose items the reader sees; keys belong to it. */
rad.report.active = () => {
  const middle = innerHeight / 2;
  return rad.report.browsers.find((one) => {
    const box = one.section.getBoundingClientRect();
    return box.top < middle && box.bottom > middle;
  }) || rad.report.browsers[0];
};

rad.report.start = () => {
  rad.ready();
  const follow = () => {
    const values = rad.address.read();
    for (const one of rad.report.browsers) {
      const named = one.own(values.at) || values.at === one.section.id;
      one.follow(named ? values : {});
    }
  };
  const act = (call) => () => { const one = rad.report.active(); if (one) { call(one); } };
  if (rad.report.browsers.length) {
    rad.keys({
      "j": ["Next turn", act((one) => one.turn(1))],
      "k": ["Previous turn", act((one) => one.turn(-1))],
      "n": ["Next debate", act((one) => one.step(1))],
      "p": ["Previous debate", act((one) => one.step(-1))],
      "/": ["Search", act((one) => { one.search.focus(); one.search.select(); })],
      "f": ["Open or close the filter", act((one) => { const filter = one.tools.querySelector(".filter"); filter.open = !filter.open; if (filter.open) { filter.querySelector("select, input").focus(); } })],
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") { return; }
      const filter = document.querySelector(".filter[open], .picks[open]");
      if (filter) { filter.open = false; filter.querySelector("summary").focus(); }
      else if (event.target instanceof HTMLInputElement) { event.target.blur(); }
    });
    addEventListener("hashchange", follow);
    follow();
  }
};
