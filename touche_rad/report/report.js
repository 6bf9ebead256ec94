"use strict";
/* The report: browse debates and whole debates. Tools above, a list, and one item in the reader.
   The address keeps the item and the filter: #d3-t2&run=a&maxim=quality. */
rad.report = { browsers: [] };
/* A view among elements of rad.h. */
const made = (view) => {
  const box = document.createElement("div");
  rad.mount(view, box);
  return [...box.childNodes];
};
const answerWord = (yes) => {
  const word = yes === null || yes === undefined ? "unknown" : yes ? "yes" : "no";
  return rad.h("span", { class: word }, word);
};

/* Parts of the data: an element of this page, or a file in data/ that calls radPart. */
{
  const parts = new Map(),
    waiting = new Map();
  window.radPart = (name, value) => {
    waiting.get(name)?.(value);
    waiting.delete(name);
  };
  const inside = document.querySelector("script[id^=part-]") !== null;
  const load = async (name) => (inside ? rad.island(`part-${name}`) : fetchPart(name));
  const fetchPart = (name) =>
    new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onload = () => script.remove();
      script.onerror = () => {
        waiting.delete(name);
        reject(new Error(`data/${name}.js cannot be read: keep the folder data beside this page`));
      };
      document.head.append(script);
    });
  rad.report.part = (name) => {
    if (!parts.has(name)) {
      parts.set(name, load(name));
    }
    parts.get(name).catch(() => parts.delete(name));
    return parts.get(name);
  };
}

/* The choices of a field: any, and values with their texts. */
rad.report.options = (values) => [
  ["", "any"],
  ...values.map((value) => (Array.isArray(value) ? value : [value, value])),
];
/* A row of the list. */
rad.report.row = (title, about) => [
  rad.h("span", { class: "claim", dir: "auto" }, title),
  rad.h("span", { class: "soft" }, about),
];

rad.report.Browser = class {
  /* spec: { section, prefix, noun, items, fields, keys, matches(item, state), text(item) for the
     search, row(item, match), render(item, match, state) } */
  constructor(spec) {
    Object.assign(this, spec);
    this.nouns = this.noun === "query" ? "queries" : `${this.noun}s`;
    this.found = [];
    this.at = -1;
    this.version = 0;
    this.build();
    rad.report.browsers.push(this);
  }

  build() {
    this.status = rad.h("span", { class: "soft", role: "status" });
    this.search = rad.h("input", {
      type: "search",
      name: "text",
      class: "grow",
      placeholder: "Search ( / )",
      "aria-label": `Search the ${this.nouns}`,
      autocomplete: "off",
    });
    this.inputs = new Map([["text", this.search]]);
    const fields = this.fields.map((field) => this.field(field));
    const filter = rad.h(
      "details",
      { class: "filter" },
      (this.summary = rad.h("summary", { class: "button" }, "Filter")),
      rad.h(
        "div",
        { class: "fields" },
        fields,
        rad.h("button", { type: "button", onclick: () => this.reset() }, "Clear the filter"),
      ),
    );
    for (const kind of ["pointerdown", "keydown"]) {
      addEventListener(kind, (event) => {
        if (kind === "keydown" ? event.key === "Escape" : !filter.contains(event.target)) {
          filter.open = false;
        }
      });
    }
    this.tools = rad.h(
      "form",
      {
        class: "tools no-print",
        role: "search",
        "aria-label": `Filter the ${this.nouns}`,
        onsubmit: (event) => event.preventDefault(),
      },
      rad.h(
        "div",
        { class: "row" },
        this.search,
        fields.length > 0 && filter,
        this.extra || null,
        rad.h(
          "span",
          { class: "pager" },
          rad.h(
            "button",
            { type: "button", "aria-label": `Previous ${this.noun}`, onclick: () => this.step(-1) },
            "‹",
          ),
          this.status,
          rad.h(
            "button",
            { type: "button", "aria-label": `Next ${this.noun}`, onclick: () => this.step(1) },
            "›",
          ),
        ),
      ),
    );
    this.rows = rad.h("ol");
    this.list = rad.h(
      "nav",
      { class: "list no-print", "aria-label": `List of ${this.nouns}`, tabindex: "0" },
      this.rows,
    );
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest("li");
      if (!row) {
        return;
      }
      event.preventDefault();
      this.go([...this.rows.children].indexOf(row));
    });
    this.reader = rad.h("div", { class: "reader" });
    rad.add(this.section, [this.tools, rad.h("div", { class: "panes" }, this.list, this.reader)]);
    let timer = 0;
    this.tools.addEventListener("input", (event) => {
      clearTimeout(timer);
      this.version += 1; // a search that goes on would delay the letters that follow
      timer = setTimeout(() => this.changed(), event.target === this.search ? 120 : 0);
    });
    new ResizeObserver(() => rad.measure("--tools", this.tools)).observe(this.tools);
  }

  field({ name, label, options }) {
    const input = options
      ? rad.h(
          "select",
          { name },
          options.map(([value, text]) => rad.h("option", { value }, text)),
        )
      : rad.h("input", { type: "checkbox", name });
    this.inputs.set(name, input);
    return options
      ? rad.h("label", { class: "field" }, label, input)
      : rad.h("label", { class: "check" }, input, ` ${label}`);
  }

  /* The filter as the fields show it; empty values are left out. */
  read() {
    const state = {};
    for (const [name, input] of this.inputs) {
      const value = input.type === "checkbox" ? (input.checked ? "1" : "") : input.value.trim();
      if (value) {
        state[name] = value;
      }
    }
    return state;
  }

  write(state) {
    for (const [name, input] of this.inputs) {
      const value = state[name] || "";
      if (input.type === "checkbox") {
        input.checked = value === "1";
      } else if (input.value.trim() !== value) {
        input.value = value;
      }
    }
  }

  reset() {
    this.write({});
    this.changed();
  }

  changed() {
    this.filter(this.read(), null);
  }

  own(at) {
    return new RegExp(`^[${this.prefix}](\\d+)(?:-t(\\d+))?$`).exec(at || "");
  }

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
    const names = Object.keys(state).filter(
      (name) => name !== "text" && this.fields.some((field) => field.name === name),
    );
    this.summary.textContent = names.length ? `Filter (${names.length})` : "Filter";
    const kept = place ? Number(place[1]) - 1 : this.current?.index;
    let found = [];
    for (const item of this.items()) {
      const match = this.matches(item, state);
      if (match) {
        found.push({ item, match, index: item.index });
      }
    }
    if (state.text) {
      this.status.textContent = "searching …";
      const candidates = found;
      found = [];
      for (const one of candidates) {
        const match = await this.textMatch(one.item, one.match, state.text.toLowerCase());
        if (version !== this.version) {
          return;
        }
        if (match) {
          found.push({ ...one, match });
        }
      }
    }
    await this.show(found, kept, place, following);
  }

  async show(found, kept, place, following) {
    this.found = found;
    this.rows.replaceChildren(
      ...found.map((one) =>
        rad.h(
          "li",
          null,
          rad.h("a", { href: `#${this.letter()}${one.index + 1}` }, this.row(one.item, one.match)),
        ),
      ),
    );
    this.at = found.findIndex((one) => one.index === kept);
    if (this.at < 0 && place && this.byIndex(kept)) {
      await this.open({ item: this.byIndex(kept), match: null, index: kept }, place, following);
      return;
    }
    if (this.at < 0 && found.length) {
      this.at = 0;
    }
    await this.open(found[this.at], place, following);
  }

  async open(one, place, following) {
    const version = this.version;
    this.current = one;
    this.reveal();
    this.count();
    if (!one) {
      rad.replace(
        this.reader,
        rad.h(
          "p",
          { class: "notice" },
          `No ${this.noun} matches the filter. `,
          rad.h("button", { type: "button", onclick: () => this.reset() }, "Clear the filter"),
        ),
      );
    } else {
      let content;
      try {
        content = await this.render(one.item, one.match, this.state);
      } catch (error) {
        content = made(rad.html`<${rad.Notice} kind="error">${error.message}<//>`);
      }
      if (version !== this.version || this.current !== one) {
        return;
      }
      rad.replace(this.reader, content);
    }
    if (!following || place) {
      this.remember(place ? place[0] : one ? `${this.letter()}${one.index + 1}` : "");
    }
    if (place) {
      this.scrollTo(place[0]);
    }
  }

  letter() {
    return this.prefix[0];
  }

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
    for (const one of this.reader.querySelectorAll(".here")) {
      one.classList.remove("here");
    }
    if (/-t\d+$/.test(id)) {
      target.classList.add("here");
    }
  }

  count() {
    const total = this.found.length.toLocaleString("en");
    this.status.textContent =
      this.at < 0
        ? `${total} ${this.found.length === 1 ? this.noun : this.nouns}`
        : `${(this.at + 1).toLocaleString("en")} of ${total}`;
  }

  async step(by) {
    const at = Math.min(Math.max(this.at + by, 0), this.found.length - 1);
    if (at !== this.at && this.found.length) {
      await this.go(at);
    }
  }

  /* Open the item at a place of the list. */
  async go(at) {
    this.version += 1;
    this.at = at;
    const one = this.found[at];
    await this.open(one, [`${this.letter()}${one.index + 1}`], false);
  }

  /* Mark the current row of the list, and scroll the list so that it is visible. */
  reveal() {
    for (const one of this.rows.querySelectorAll("[aria-current]")) {
      one.removeAttribute("aria-current");
    }
    const row = this.rows.children[this.at];
    if (!row) {
      return;
    }
    row.firstChild.setAttribute("aria-current", "true");
    const { scrollTop, clientHeight } = this.list,
      top = row.offsetTop;
    if (top < scrollTop || top + row.offsetHeight > scrollTop + clientHeight) {
      this.list.scrollTop = Math.max(0, top - clientHeight / 3);
    }
  }
};

rad.report.start = () => {
  const follow = () => {
    const values = rad.address.read();
    for (const one of rad.report.browsers) {
      const named = one.own(values.at) || values.at === one.section.id;
      one.follow(named ? values : {});
    }
  };
  const [first] = rad.report.browsers;
  if (first) {
    rad.keys({
      n: [
        "Next debate",
        () => {
          first.step(1);
        },
      ],
      p: [
        "Previous debate",
        () => {
          first.step(-1);
        },
      ],
      "/": [
        "Search",
        () => {
          first.search.focus();
          first.search.select();
        },
      ],
    });
    addEventListener("hashchange", follow);
    follow();
  }
};

/* Debates: filter by run, maxim, verdict, marks and text; read them one by one, or compare runs. */
{
  const MARKS = { long: 1, unsupported: 2, unanswered: 8 },
    FALLBACK = 4,
    FEW = 6;

  rad.report.debates = (section, data) => {
    const maxims = data.maxims,
      names = data.runs.map((run) => run.name),
      byline = (run) =>
        data.runs[run].about && rad.h("small", { class: "soft" }, ` ${data.runs[run].about}`);
    const debates = data.debates.map(
      ([claim, part, id, runs, marks, hashes, judges, verdicts, labels], index) => ({
        index,
        claim,
        part,
        id,
        runs,
        marks,
        hashes,
        judges,
        verdicts,
        labels,
        turns: marks.length,
      }),
    );
    const first = new Map();
    debates.forEach((one) => {
      if (!first.has(one.part)) {
        first.set(one.part, one.index);
      }
    });
    const claims = data.claims.map((text, index) => ({
      index,
      text,
      debates: [],
      ofRun: new Map(),
    }));
    for (const one of debates) {
      claims[one.claim].debates.push(one);
      for (const run of one.runs) {
        claims[one.claim].ofRun.set(run, one);
      }
    }
    const letter = (one, judge, turn, maxim) =>
      one.verdicts[(judge * one.turns + turn) * 4 + maxim];
    const label = (one, turn, maxim) => one.labels[turn * 4 + maxim] || "-";
    const hash = (one, turn) => one.hashes.slice(turn * 5, turn * 5 + 5);

    /* Whether a turn fits the filter. */
    const fits = (one, turn, state, run, among) => {
      const mark = parseInt(one.marks[turn], 16);
      if (state.fallback && !(mark & FALLBACK)) {
        return false;
      }
      if (state.mark && !(mark & MARKS[state.mark])) {
        return false;
      }
      if (!(state.verdict || state.label || state.disagree)) {
        return true;
      }
      for (let maxim = 0; maxim < 4; maxim += 1) {
        if (state.maxim && maxims[maxim] !== state.maxim) {
          continue;
        }
        const known = label(one, turn, maxim);
        if (
          (state.label === "yes" && known !== "y") ||
          (state.label === "no" && known !== "n") ||
          (state.label && known === "-")
        ) {
          continue;
        }
        let yes = false,
          no = false,
          right = !state.verdict && state.label !== "differs";
        one.judges.forEach((judge, place) => {
          if (among && !among.includes(judge)) {
            return;
          }
          const said = letter(one, place, turn, maxim);
          if (said === "y") {
            yes = true;
          } else if (said === "n") {
            no = true;
          }
          if (run >= 0 && judge !== run) {
            return;
          }
          const wanted = !state.verdict || said === { yes: "y", no: "n", none: "-" }[state.verdict];
          const differs = state.label !== "differs" || (said !== "-" && said !== known);
          if (wanted && differs) {
            right = true;
          }
        });
        if (right && (!state.disagree || (yes && no))) {
          return true;
        }
      }
      return false;
    };

    const matchDebate = (one, state) => {
      const run = state.run ? names.indexOf(state.run) : -1;
      if (state.run && !one.runs.includes(run)) {
        return null;
      }
      const turns = [];
      for (let turn = 0; turn < one.turns; turn += 1) {
        if (fits(one, turn, state, run)) {
          turns.push(turn);
        }
      }
      return turns.length || !one.turns ? { turns } : null;
    };

    /* Whether the chosen runs differ on a turn: in their verdicts, or in their responses. */
    const differ = (claim, turn, runs, only) => {
      const found = runs
        .map((run) => [run, claim.ofRun.get(run)])
        .filter(([, one]) => one && turn < one.turns);
      for (let maxim = 0; maxim < 4; maxim += 1) {
        const said = new Set(
          found
            .map(([run, one]) => letter(one, one.judges.indexOf(run), turn, maxim))
            .filter((one) => one === "y" || one === "n"),
        );
        if (said.size > 1) {
          return true;
        }
      }
      if (only === "verdicts") {
        return false;
      }
      return (
        (found.length < runs.length && found.length > 0) ||
        new Set(found.map(([, one]) => hash(one, turn))).size > 1
      );
    };

    const matchClaim = (claim, state, runs) => {
      const ones = [...new Set(runs.map((run) => claim.ofRun.get(run)).filter(Boolean))];
      const most = Math.max(0, ...ones.map((one) => one.turns)),
        turns = [];
      for (let turn = 0; turn < most; turn += 1) {
        const right = ones.some((one) => turn < one.turns && fits(one, turn, state, -1, runs));
        if (right && (!state.differ || differ(claim, turn, runs, state.differ))) {
          turns.push(turn);
        }
      }
      return turns.length ? { turns } : null;
    };

    /* The turns whose text, response or cited arguments contain the words of a search. */
    const textTurns = async (one, turns, text) => {
      if (
        data.claims[one.claim].toLowerCase().includes(text) ||
        one.id.toLowerCase().includes(text)
      ) {
        return turns;
      }
      const loaded = await load(one);
      return turns.filter((at) => {
        const { user, answer } = loaded[at],
          cited = answer ? answer.citations : [];
        return [
          user,
          answer ? answer.content : "",
          ...cited.flatMap((it) => [it.id, it.parts.map(([part]) => part).join("")]),
        ]
          .join(" ")
          .toLowerCase()
          .includes(text);
      });
    };

    const load = async (one) => {
      const part = await rad.report.part(`d${one.part}`);
      return part[one.index - first.get(one.part)];
    };

    const labelled = debates.some((one) => one.labels),
      judged = debates.some((one) => one.judges.length);
    const several = debates.some((one) => one.judges.length > 1);
    const fields = [
      names.length > 1 && { name: "run", label: "Run", options: rad.report.options(names) },
      judged && { name: "maxim", label: "Maxim", options: rad.report.options(maxims) },
      judged && {
        name: "verdict",
        label: "Verdict",
        options: rad.report.options(["yes", "no", ["none", "no verdict"]]),
      },
      labelled && {
        name: "label",
        label: "Label",
        options: rad.report.options(["yes", "no", ["differs", "differs from the verdict"]]),
      },
      {
        name: "mark",
        label: "Response",
        options: rad.report.options([
          ["long", "over 60 words"],
          ["unsupported", "a sentence without support"],
          ["unanswered", "no response"],
        ]),
      },
      several && { name: "disagree", label: "judges disagree" },
      { name: "fallback", label: "fallback answered" },
    ].filter(Boolean);

    const runs = names
      .map((_, run) => run)
      .filter((run) => debates.some((one) => one.runs.includes(run)));
    const chosen = (state) => {
      const picked = (state.with || "")
        .split(".")
        .map(Number)
        .filter((run) => runs.includes(run) && state.with);
      return picked.length ? picked : runs.slice(0, 2);
    };
    let comparing = false;
    const modes = ["Read", "Compare"].map((name, at) =>
      rad.h("button", { type: "button", onclick: () => switchTo(at === 1) }, name),
    );
    const boxes = runs.map((run) => rad.h("input", { type: "checkbox", value: String(run) }));
    const picksTitle = rad.h("summary", { class: "button" }, "Runs");
    const only = rad.h(
      "select",
      { name: "differ", "aria-label": "Turns to compare" },
      rad.h("option", { value: "" }, "all turns"),
      rad.h("option", { value: "1" }, "only where they differ"),
      rad.h("option", { value: "verdicts" }, "only where verdicts differ"),
    );
    const picks = rad.h(
      "details",
      { class: "picks" },
      picksTitle,
      rad.h(
        "div",
        { class: "fields", role: "group", "aria-label": "Runs to compare" },
        boxes.map((box, at) => rad.h("label", { class: "check" }, box, ` ${names[runs[at]]}`)),
      ),
    );
    const extra =
      runs.length > 1 ? rad.h("span", { class: "row modes" }, modes, picks, only) : null;

    const browser = new rad.report.Browser({
      section,
      prefix: "dc",
      noun: "debate",
      fields,
      extra,
      letter: () => (comparing ? "c" : "d"),
      items: () => (comparing ? claims : debates),
      byIndex: (index) => (comparing ? claims : debates)[index],
      matches: (item, state) =>
        comparing ? matchClaim(item, state, chosen(state)) : matchDebate(item, state),
      textMatch: async (item, match, text) => {
        if (!comparing) {
          const turns = await textTurns(item, match.turns, text);
          return turns.length ? { turns } : null;
        }
        const ones = [
          ...new Set(
            chosen(browser.state)
              .map((run) => item.ofRun.get(run))
              .filter(Boolean),
          ),
        ];
        const kept = new Set();
        for (const one of ones) {
          for (const turn of await textTurns(
            one,
            match.turns.filter((at) => at < one.turns),
            text,
          )) {
            kept.add(turn);
          }
        }
        return kept.size ? { turns: match.turns.filter((turn) => kept.has(turn)) } : null;
      },
      row: (item, match) => {
        const turns = match.turns.length;
        if (comparing) {
          return rad.report.row(
            `${item.index + 1}. ${item.text}`,
            `${turns} turn${turns === 1 ? "" : "s"}`,
          );
        }
        const runs = item.runs.length > 1 ? `${item.runs.length} runs` : names[item.runs[0]];
        const part = turns < item.turns ? `, ${turns} of ${item.turns} turns` : "";
        return rad.report.row(`${item.index + 1}. ${data.claims[item.claim]}`, runs + part);
      },
      render: (item, match, state) =>
        comparing ? renderClaim(item, match, state) : renderDebate(item, match, state),
    });

    /* The mode and the compared runs belong to the address, like the filter. */
    browser.inputs.set("differ", only);
    const readFields = browser.read.bind(browser),
      writeFields = browser.write.bind(browser),
      followAddress = browser.follow.bind(browser);
    browser.read = () => {
      const state = readFields();
      if (comparing) {
        const picked = boxes.filter((box) => box.checked).map((box) => box.value);
        if (picked.length) {
          state.with = picked.join(".");
        }
        state.view = "compare";
      }
      return state;
    };
    browser.write = (state) => {
      writeFields(state);
      const picked = chosen(state);
      boxes.forEach((box) => {
        box.checked = picked.includes(Number(box.value));
      });
      dress();
    };
    browser.follow = (values) => {
      const place = browser.own(values.at);
      comparing = runs.length > 1 && (place ? place[0][0] === "c" : values.view === "compare");
      return followAddress(values);
    };
    const dress = () => {
      modes.forEach((button, at) =>
        button.setAttribute("aria-pressed", String((at === 1) === comparing)),
      );
      picks.hidden = only.hidden = !comparing;
      const picked = boxes.filter((box) => box.checked).length;
      picksTitle.textContent = `Runs (${picked || 2})`;
      section.classList.toggle("comparing", comparing);
    };
    const switchTo = (compare) => {
      if (compare === comparing) {
        return;
      }
      const one = browser.current?.item;
      const index = !one ? 0 : compare ? one.claim : (one.debates[0] || { index: 0 }).index;
      comparing = compare;
      only.value = "";
      browser.at = -1;
      browser.current = null;
      if (compare && !boxes.some((box) => box.checked)) {
        browser.write({ ...browser.state, view: "compare" });
      }
      dress();
      browser.filter(browser.read(), [`${compare ? "c" : "d"}${index + 1}`, String(index + 1)]);
    };
    picks.addEventListener("input", dress);

    const permalink = (id, text) =>
      rad.h(
        "a",
        {
          href: `#${id}`,
          onclick: (event) => {
            event.preventDefault();
            browser.scrollTo(id);
            browser.remember(id);
          },
        },
        text,
      );

    const title = (text, id, about) =>
      rad.h(
        "header",
        { id },
        rad.h("h3", { dir: "auto" }, permalink(id, text)),
        about && rad.h("p", { class: "soft" }, about),
      );

    const renderDebate = async (one, match, state) => {
      const loaded = await load(one),
        id = `d${one.index + 1}`;
      const about = [
        one.runs.length > FEW
          ? `${one.runs.length} runs`
          : one.runs.map((run) => names[run]).join(", "),
        one.id && `id ${one.id}`,
      ]
        .filter(Boolean)
        .join(" · ");
      return [
        title(`${one.index + 1}. ${data.claims[one.claim]}`, id, about),
        !match && made(rad.html`<${rad.Notice}>This debate does not match the filter.<//>`),
        loaded.map((turn, at) =>
          renderTurn(one, turn, at, `${id}-t${at + 1}`, state, !match || match.turns.includes(at)),
        ),
      ];
    };

    const renderTurn = (one, turn, at, id, state, right) => {
      const body = () => [
        userBubble(turn, permalink(id, `Turn ${at + 1}`)),
        response(one, turn, at, id, state),
      ];
      return right
        ? rad.h("section", { class: "turn", id }, body())
        : rad.h(
            "section",
            { class: "turn other", id },
            rad.h(
              "details",
              null,
              rad.h(
                "summary",
                { class: "soft" },
                `Turn ${at + 1}, which does not match the filter`,
              ),
              body(),
            ),
          );
    };

    const userBubble = (turn, head) =>
      rad.h(
        "div",
        { class: "bubble user" },
        rad.h("span", { class: "who" }, head, ", user"),
        rad.h("span", { class: "text", dir: "auto" }, turn.user),
      );

    const response = (one, turn, at, id, state) => [
      answer(one, turn, at, id),
      turn.answer && [verdictsOf(one, turn, at, state), labelsOf(one, at), callsOf(turn)],
    ];
    const answer = (one, turn, at, id) => {
      const said = turn.answer;
      if (!said) {
        return rad.h("p", { class: "soft" }, "No response.");
      }
      const cards = said.citations.map((it) =>
        made(rad.html`<${rad.Citation} citation=${it} scope=${id} />`),
      );
      return [
        rad.h(
          "div",
          { class: "bubble system" },
          rad.h(
            "span",
            { class: "who" },
            `System, ${said.words} word${said.words === 1 ? "" : "s"}`,
            said.words > 60 && " (over 60)",
            parseInt(one.marks[at], 16) & FALLBACK
              ? [" ", rad.h("span", { class: "chip" }, "a fallback debater answered")]
              : null,
          ),
          said.sentences.length
            ? made(rad.html`<${rad.Answer} answer=${said} scope=${id} />`)
            : "(empty)",
        ),
        cards.length
          ? rad.h("div", { class: "cards" }, cards.slice(0, 2))
          : rad.h("p", { class: "soft" }, "No citations."),
        cards.length > 2 &&
          rad.h(
            "details",
            null,
            rad.h(
              "summary",
              { class: "soft" },
              `${cards.length - 2} more, which annotators did not see`,
            ),
            rad.h("div", { class: "cards" }, cards.slice(2)),
          ),
      ];
    };

    const chip = (maxim, score, why, known) => {
      const yes = score === null ? null : score >= 0.5,
        differs = known !== "-" && score !== null && (known === "y") !== yes;
      return rad.h(
        "details",
        { class: `chip ${differs ? "differs" : ""}` },
        rad.h(
          "summary",
          null,
          `${maxims[maxim]} `,
          answerWord(yes),
          score === null ? null : rad.h("span", { class: "num" }, ` ${score.toFixed(2)}`),
          differs && " ≠ label",
        ),
        rad.h("span", { class: "text why", dir: "auto" }, why || "no rationale"),
      );
    };
    const row = (one, at, [run, scores, why]) =>
      rad.h(
        "div",
        { class: "verdicts" },
        rad.h("b", null, names[run], byline(run)),
        scores.map((score, maxim) => chip(maxim, score, why[maxim], label(one, at, maxim))),
      );
    const verdictsOf = (one, turn, at, state, wanted) => {
      const all = (turn.judged || []).filter(([run]) => !wanted || wanted.includes(run));
      if (!all.length) {
        return null;
      }
      const chosenRun = state.run ? names.indexOf(state.run) : -1;
      const own = all.filter(([run]) => run === chosenRun);
      if (all.length <= FEW) {
        return all.map((each) => row(one, at, each));
      }
      return [
        own.map((each) => row(one, at, each)),
        rad.h(
          "details",
          null,
          rad.h("summary", { class: "soft" }, `The verdicts of ${all.length} judges`),
          all.map((each) => row(one, at, each)),
        ),
      ];
    };
    const labelsOf = (one, at) => {
      const known = maxims.map((_, maxim) => label(one, at, maxim));
      if (known.every((each) => each === "-")) {
        return null;
      }
      return rad.h(
        "div",
        { class: "verdicts" },
        rad.h("b", null, "label"),
        maxims.map((maxim, place) =>
          rad.h(
            "span",
            { class: "chip" },
            `${maxim} `,
            answerWord(known[place] === "-" ? null : known[place] === "y"),
          ),
        ),
      );
    };
    const callsOf = (turn) =>
      (turn.calls || []).map(([run, calls]) =>
        rad.h(
          "details",
          { class: "calls" },
          rad.h(
            "summary",
            { class: "soft" },
            `${names[run]}: ${calls.length} model call${calls.length === 1 ? "" : "s"}`,
          ),
          calls.map((call) =>
            rad.h(
              "details",
              null,
              rad.h(
                "summary",
                null,
                `${call.step} `,
                rad.h(
                  "span",
                  { class: "soft" },
                  call.cached
                    ? "from the cache"
                    : [
                        call.seconds === null ? "–" : call.seconds.toFixed(2),
                        " s",
                        call.tokens ? `, ${call.tokens}` : "",
                      ].join(""),
                ),
                call.fault && rad.h("span", { class: "no" }, ` ${call.fault}`),
              ),
              call.messages.map(([role, text]) => [
                rad.h("p", { class: "who" }, role),
                rad.h("pre", { dir: "auto" }, text),
              ]),
              call.answer && [
                rad.h("p", { class: "who" }, "answer"),
                rad.h("pre", { dir: "auto" }, call.answer),
              ],
            ),
          ),
        ),
      );

    const renderClaim = async (claim, match, state) => {
      const picked = chosen(state),
        id = `c${claim.index + 1}`;
      const columns = [];
      for (const run of picked) {
        const one = claim.ofRun.get(run);
        columns.push({ run, one, loaded: one ? await load(one) : null });
      }
      const known = columns.filter((column) => column.one);
      const alike = known.length > 0 && known.every((column) => column.one === known[0].one);
      const most = Math.max(0, ...known.map((column) => column.one.turns));
      const turns = match ? match.turns : [...Array(most).keys()];
      return [
        title(
          `${claim.index + 1}. ${claim.text}`,
          id,
          [
            alike ? "the same debate" : `${picked.length} runs`,
            `${turns.length} of ${most} turns`,
          ].join(", "),
        ),
        turns.map((at) =>
          rad.h(
            "section",
            { class: "turn", id: `${id}-t${at + 1}` },
            rad.h("h4", null, permalink(`${id}-t${at + 1}`, `Turn ${at + 1}`)),
            alike && [
              userBubble(known[0].loaded[at], "The same turn"),
              answer(known[0].one, known[0].loaded[at], at, `${id}-t${at + 1}`),
              known[0].loaded[at].answer && labelsOf(known[0].one, at),
            ],
            rad.h(
              "div",
              {
                class: "compare",
                tabindex: "0",
                role: "group",
                "aria-label": `Turn ${at + 1} of ${columns.length} runs`,
              },
              columns.map((column) =>
                rad.h(
                  "div",
                  { class: "column", role: "group", "aria-label": names[column.run] },
                  rad.h("h5", null, names[column.run], byline(column.run)),
                  cell(column, at, `${id}-t${at + 1}-r${column.run}`, alike, state),
                ),
              ),
            ),
          ),
        ),
      ];
    };
    const cell = ({ run, one, loaded }, at, id, alike, state) => {
      const turn = loaded && loaded[at];
      if (!turn) {
        return rad.h("p", { class: "soft" }, "This run has no such turn.");
      }
      const own = turn.answer && verdictsOf(one, turn, at, { ...state, run: "" }, [run]);
      if (alike) {
        return own || rad.h("p", { class: "soft" }, "No verdicts.");
      }
      return [
        userBubble(turn, `Turn ${at + 1}`),
        answer(one, turn, at, id),
        turn.answer && [
          one.judges.length > FEW ? null : verdictsOf(one, turn, at, state),
          labelsOf(one, at),
        ],
      ];
    };
    return browser;
  };
}

/* Whole debates and queries: the same browser with its own filters. */
{
  rad.report.contests = (section, data) => {
    const items = data.contests.map((one, index) => ({ sides: [], verdicts: [], ...one, index }));
    const runs = [...new Set(items.flatMap((one) => one.verdicts.map(([run]) => run)))];
    const speakers = [...new Set(items.flatMap((one) => one.sides))];
    const parsed = async (one) =>
      new DOMParser().parseFromString(
        (await rad.report.part(`${section.id[0]}${one.part}`))[one.place],
        "text/html",
      ).body;
    return new rad.report.Browser({
      section,
      prefix: section.id[0],
      noun: section.id === "queries" ? "query" : "whole debate",
      items: () => items,
      byIndex: (index) => items[index],
      fields: [
        runs.length > 1 && { name: "run", label: "Run", options: rad.report.options(runs) },
        speakers.length &&
          speakers.length <= 60 && {
            name: "speaker",
            label: "Speaker",
            options: rad.report.options(speakers),
          },
        runs.length && {
          name: "winner",
          label: "Winner",
          options: rad.report.options(["pro", "con", "tie", ["none", "no winner"]]),
        },
        runs.length > 1 && { name: "disagree", label: "panels disagree" },
        runs.length && { name: "swapped", label: "winner changes with the sides" },
        runs.length && { name: "wrong", label: "differs from the human decision" },
        items.some((one) => one.fallback) && { name: "fallback", label: "fallback answered" },
      ].filter(Boolean),
      matches: (one, state) => {
        if (state.fallback && !one.fallback) {
          return null;
        }
        if (state.speaker && !one.sides.includes(state.speaker)) {
          return null;
        }
        if (state.disagree && new Set(one.verdicts.map(([, winner]) => winner)).size < 2) {
          return null;
        }
        const wanted = state.run || state.winner || state.swapped || state.wrong;
        const right = one.verdicts.some(
          ([run, , side, flipped, wrong]) =>
            (!state.run || run === state.run) &&
            (!state.winner || side === state.winner) &&
            (!state.swapped || flipped) &&
            (!state.wrong || wrong),
        );
        return !wanted || right ? {} : null;
      },
      textMatch: async (one, match, words) =>
        one.motion.toLowerCase().includes(words) ||
        (await parsed(one)).textContent.toLowerCase().includes(words)
          ? match
          : null,
      row: (one) =>
        rad.report.row(
          `${one.index + 1}. ${one.motion}`,
          [
            one.sides.join(" against "),
            one.verdicts.length === 1 &&
              (one.verdicts[0][1] === "tie" ? "a tie" : `winner ${one.verdicts[0][1] || "none"}`),
          ]
            .filter(Boolean)
            .join(", "),
        ),
      render: async (one) => {
        const id = `${section.id[0]}${one.index + 1}`;
        const body = [...(await parsed(one)).childNodes].map((node) =>
          document.importNode(node, true),
        );
        return [
          rad.h(
            "header",
            { id },
            rad.h(
              "h3",
              { dir: "auto" },
              rad.h("a", { href: `#${id}` }, `${one.index + 1}. ${one.motion}`),
            ),
          ),
          body,
        ];
      },
    });
  };

  for (const [name, make] of Object.entries({
    debates: rad.report.debates,
    wholes: rad.report.contests,
    queries: rad.report.contests,
  })) {
    const section = document.getElementById(name);
    if (section) {
      make(section, rad.island(`data-${name}`));
    }
  }
  rad.report.start();
}
