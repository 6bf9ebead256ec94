"use strict";
/* A reader: a search with filters, a list, and one item. The address keeps all of it:
   #d3-t2&run=a&maxim=quality. */
{
  const { html } = rad;
  const { go, part } = rad.report;

  /* { value } or { error } of a part; neither while it is loaded. */
  const usePart = (name) => {
    const [loaded, set] = rad.useState({});
    rad.useEffect(() => {
      if (name) {
        part(name).then(
          (value) => set({ name, value }),
          (error) => set({ name, error }),
        );
      }
    }, [name]);
    return loaded.name === name ? loaded : {};
  };

  const finder = (words) => {
    const pattern = new RegExp(`(${words.replace(/\W/g, "\\$&")})`, "i");
    const mark = (part, at) => (at % 2 ? html`<mark class="found">${part}</mark>` : part);
    return (text) => (words ? text.split(pattern).map(mark) : text);
  };

  /* spec: { name, noun, nouns, items, fields, matches(item, state), search(item, match, words),
     Row, Item, Tools }. Items have an index, and a part with their record; a match is { turns,
     verdicts }. */
  rad.report.Reader = ({ spec, address }) => {
    const { at, text = "", ...state } = address;
    const { name, noun, nouns, fields, items } = spec;
    const [, number, named] = /^[a-z](\d+)(?:-t(\d+))?$/.exec(at) || [];
    const words = text.trim().toLowerCase();
    const key = JSON.stringify(state);
    const candidates = rad.useMemo(
      () =>
        items
          .map((item) => ({ item, match: spec.matches(item, state) }))
          .filter(({ match }) => match),
      [key],
    );
    const [result, setResult] = rad.useState({});
    const wanted = key + words;
    rad.useEffect(() => {
      let current = true;
      const search = async () => {
        const found = [];
        for (const { item, match } of candidates) {
          const better = await spec.search(item, match, words);
          if (better && current) {
            found.push({ item, match: better });
          }
        }
        return { wanted, found };
      };
      if (words) {
        search().then(
          (value) => current && setResult(value),
          (error) => current && setResult({ wanted, error, found: [] }),
        );
      }
      return () => (current = false);
    }, [wanted]);
    const searching = words && result.wanted !== wanted;
    const found = searching ? [] : words ? result.found : candidates;

    const index = number ? number - 1 : found[0]?.item.index;
    const row = found.findIndex(({ item }) => item.index === index);
    const item = items.find((other) => other.index === index);
    const match = found[row]?.match;
    const turn = named ? named - 1 : match?.turns?.[0] || 0;
    const id = (place) => `${name[0]}${place + 1}`;
    const filter = (values) => go({ ...address, at: name, ...values });
    const step = (by) => {
      const next = found[row + by];
      if (next) {
        go({ ...address, at: id(next.item.index) });
      }
    };
    const turnTo = (place) => {
      if (place >= 0 && place < item?.turns) {
        go({ ...address, at: `${id(index)}-t${place + 1}` });
      }
    };

    const [drawn, draw] = rad.useState(30);
    const size = Math.max(drawn, row + 15);
    const drawMore = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
      if (size < found.length && scrollTop + 3 * clientHeight > scrollHeight) {
        draw(size + 30);
      }
    };

    const reader = rad.useRef();
    const list = rad.useRef();
    rad.useEffect(() => {
      const { top } = reader.current.getBoundingClientRect();
      if (top < 50 || top > innerHeight / 2) {
        reader.current.scrollIntoView();
      }
      const { offsetTop = 0 } = list.current.querySelector("[aria-current]")?.parentElement || {};
      const { scrollTop, clientHeight } = list.current;
      if (offsetTop < scrollTop || offsetTop > scrollTop + clientHeight - 60) {
        list.current.scrollTop = offsetTop - clientHeight / 3;
      }
    }, [index, wanted, searching, turn]);
    rad.keys({
      j: [`Next ${noun}`, () => step(1)],
      k: [`Previous ${noun}`, () => step(-1)],
      ArrowRight: ["Next turn", () => turnTo(turn + 1)],
      ArrowLeft: ["Previous turn", () => turnTo(turn - 1)],
      "/": ["Search", () => document.querySelector("[name=text]").focus()],
    });
    const arrows = (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by) {
        event.preventDefault();
        step(by);
        requestAnimationFrame(() => list.current.querySelector("[aria-current]").focus());
      }
    };
    const timer = rad.useRef();
    const type = ({ currentTarget }) => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => filter({ text: currentTarget.value }), 120);
    };

    const chips = fields
      .filter(([field]) => state[field])
      .map(([field, label, options]) => {
        const [, chosen] = options.find(([value]) => value === state[field]) || [];
        return [field, `${label}: ${chosen || state[field]}`];
      });
    const groups = fields.map(([field, label, options]) => [
      label,
      options.map(([value, option]) => [`${field}=${value}`, option]),
    ]);
    const add = (value) => {
      const [field, ...chosen] = value.split("=");
      filter({ [field]: chosen.join("=") });
    };
    const { value, error } = usePart(item && name[0] + item.part);
    const total = found.length.toLocaleString("en");
    const turns = found.flatMap(({ match: { turns } }) => turns ?? []).length;
    const verdicts = found.reduce((sum, { match }) => sum + match.verdicts, 0);
    const judged = state.verdict && verdicts > turns ? `${rad.count(verdicts, "verdict")} in ` : "";
    const place =
      (row < 0 ? `${total} ${nouns}` : `${row + 1} of ${total} in the list`) +
      (turns && key !== "{}" ? `, ${judged}${rad.count(turns, "turn")}` : "");
    return html`<form
        class="row tools no-print"
        role="search"
        aria-label="Filter the ${nouns}"
        onSubmit=${(event) => event.preventDefault()}
      >
        <input
          type="search"
          name="text"
          class="grow"
          placeholder="Search ( / )"
          aria-label="Search the ${nouns}"
          autocomplete="off"
          value=${text}
          onInput=${type}
        />
        ${
          groups.length > 0 &&
          html`<${rad.Pick}
            label="Add a filter"
            name="filter"
            options=${[["", "Filter …"], ...groups]}
            pick=${add}
          />`
        }
        ${spec.Tools && html`<${spec.Tools} ...${{ state, item, filter }} />`}
        <span class="pager">
          <button class="plain" aria-label="Previous ${noun}" onClick=${() => step(-1)}>‹</button>
          <span class="soft" role="status">${searching ? "searching …" : place}</span>
          <button class="plain" aria-label="Next ${noun}" onClick=${() => step(1)}>›</button>
        </span>
        <${rad.Chips} chips=${chips} remove=${(field) => filter({ [field]: "" })} />
      </form>
      <div class="panes">
        <nav
          class="list no-print"
          aria-label="List of ${nouns}"
          ref=${list}
          onKeyDown=${arrows}
          onScroll=${drawMore}
        >
          ${spec.about && html`<p class="soft">${spec.about}</p>`}
          <ol>
            ${found.slice(0, size).map((line, place) => {
              const values = { ...address, at: id(line.item.index) };
              const open = (event) => {
                event.preventDefault();
                go(values);
              };
              return html`<li key=${line.item.index}>
                <a
                  href=${rad.address.text(values)}
                  aria-current=${place === row ? "true" : null}
                  tabindex=${place === Math.max(row, 0) ? 0 : -1}
                  onClick=${open}
                >
                  <span class="text">${rad.short(line.item.text, 65)}</span>
                  <${spec.Row} ...${line} state=${state} />
                </a>
              </li>`;
            })}
          </ol>
        </nav>
        <div class="reader" ref=${reader}>
          ${error && html`<${rad.Notice} kind="error">${error.message}<//>`}
          ${
            !match &&
            !searching &&
            html`<p class="notice">
              ${item ? "This" : "No"} ${noun} matches the filter${item && " no longer"}.${" "}
              <button onClick=${() => go({ at: name })}>Clear the filter</button>
            </p>`
          }
          ${
            item &&
            html`<h2 id=${id(index)}>${item.text}</h2>
              ${
                value
                  ? html`<${spec.Item}
                      key=${index}
                      ...${{ item, value, match, state, turn, turnTo, id: id(index), find: finder(words) }}
                    />`
                  : html`<p class="soft">loading …</p>`
              }`
          }
        </div>
      </div>`;
  };
  rad.report.contains = (record, words) => JSON.stringify(record).toLowerCase().includes(words);
}
