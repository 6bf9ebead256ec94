"use strict";
/* The data of the report, the parts that are loaded on demand, and what several views use. */
rad.report = { data: rad.island("report") };
{
  const { html } = rad;
  const parts = new Map();
  const waiting = new Map();

  /* Parts: an element of this page, or a file in data/ that calls radPart. */
  window.radPart = (name, value) => {
    waiting.get(name)?.(value);
    waiting.delete(name);
  };
  const inside = document.querySelector("script[id^=part-]") !== null;
  const fetchPart = (name) =>
    new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onload = () => script.remove();
      script.onerror = () =>
        reject(new Error(`data/${name}.js cannot be read: keep the folder data beside this page`));
      document.head.append(script);
    });
  rad.report.part = (name) => {
    if (!parts.has(name)) {
      const loading = inside ? Promise.resolve(rad.island(`part-${name}`)) : fetchPart(name);
      loading.catch(() => parts.delete(name));
      parts.set(name, loading);
    }
    return parts.get(name);
  };
  /* { value } or { error } of a part; neither while it is loaded. */
  rad.report.usePart = (name) => {
    const [loaded, set] = rad.useState({});
    rad.useEffect(() => {
      (name ? rad.report.part(name) : Promise.resolve()).then(
        (value) => set({ name, value }),
        (error) => set({ name, error }),
      );
    }, [name]);
    return loaded.name === name ? loaded : {};
  };
  rad.report.range = (size) => [...Array(size).keys()];
  rad.report.section = (name) =>
    document.getElementById(`data-${name}`) && rad.island(`data-${name}`);

  /* The claims, their debates, and the verdicts as letters: y, n, or - for none. */
  const index = rad.report.section("debates");
  if (index) {
    const size = index.criteria.length;
    const claims = index.claims.map((text, at) => ({ index: at, text, debates: [], turns: 0 }));
    const places = new Map();
    for (const [
      at,
      part,
      id,
      runs,
      marks,
      hashes,
      judges,
      verdicts,
      labels,
      levels,
    ] of index.debates) {
      const place = places.get(part) || 0;
      places.set(part, place + 1);
      const claim = claims[at];
      const turns = marks.length;
      claim.part = part;
      claim.turns = Math.max(claim.turns, turns);
      claim.debates.push({
        ...{ place, id, runs, judges, levels, turns },
        mark: (turn) => parseInt(marks[turn], 16),
        hash: (turn) => hashes.slice(turn * 5, turn * 5 + 5),
        letter: (judge, turn, criterion) =>
          verdicts[(judges.indexOf(judge) * turns + turn) * size + criterion] || "-",
        label: (turn, criterion) => labels[turn * size + criterion] || "-",
      });
    }
    rad.report.names = index.runs;
    rad.report.keys = index.criteria.map(([key]) => key);
    rad.report.titles = index.criteria.map(([, title]) => title);
    /* What a letter says on a criterion: yes or no, or another answer. */
    rad.report.answer = (letter, at) => ({
      yes: { y: true, n: false }[letter] ?? null,
      answer: index.criteria[at][2][letter.charCodeAt(0) - 65],
    });
    rad.report.letter = (name, at) =>
      ({ yes: "y", no: "n", none: "-" })[name] ??
      String.fromCharCode(65 + index.criteria[at][2].indexOf(name));
    Object.assign(rad.report, { claims, filters: index.filters, red: index.red });
  }

  /* Show an address: #AT&name=value. */
  let refresh;
  rad.report.go = (values) => {
    rad.address.write(values);
    refresh();
  };
  rad.report.useAddress = () => {
    const [, render] = rad.useReducer((number) => number + 1, 0);
    refresh = render;
    rad.useEffect(() => addEventListener("hashchange", render), []);
    return rad.address.read();
  };
  rad.report.shade = (share) => ({
    background: `color-mix(in srgb, var(--accent) ${Math.round(38 * Math.max(share || 0, 0))}%, transparent)`,
  });

  /* A table of report.boards.page_table, which can be sorted. Cells are texts, numbers, null, or
     [text, class, link]. */
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  rad.report.Table = ({ caption, heads, rows, csv }) => {
    const [{ by, down }, sort] = rad.useState({});
    const empty = (value) => value === null || value === "" || value === "–";
    const numeric = heads.map((_, at) => rows.some((row) => /^[-−\d.,]+$/.test(row[at])));
    const shown = [...rows];
    if (by !== undefined) {
      shown.sort(
        ({ [by]: a }, { [by]: b }) =>
          empty(a) - empty(b) || (empty(a) ? 0 : order(a, b) * (down ? -1 : 1)),
      );
    }
    const text = (value) => {
      if (Array.isArray(value)) {
        const [content, kind, href] = value;
        return href && rad.report.claims
          ? html`<a href=${href}>${content}</a>`
          : html`<span class=${kind}>${content}</span>`;
      }
      if (typeof value !== "number") {
        return value || "–";
      }
      return Number.isInteger(value) ? value.toLocaleString("en") : rad.number(value);
    };
    return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}>
      <table>
        <caption>
          ${caption}${" "}
          <a class="no-print" href=${csv} download="${caption}.csv" aria-label="${caption} as CSV"
            >CSV</a
          >
        </caption>
        <thead>
          <tr>
            ${heads.map(
              (head, at) =>
                html`<th
                  scope="col"
                  class=${numeric[at] && "num"}
                  aria-sort=${by === at ? (down ? "descending" : "ascending") : null}
                >
                  <button
                    type="button"
                    class="sort"
                    onClick=${() => sort({ by: at, down: by === at ? !down : numeric[at] })}
                  >
                    ${head}
                  </button>
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            ([name, ...row]) =>
              html`<tr>
                <th scope="row"><bdi>${text(name)}</bdi></th>
                ${row.map((value, at) => html`<td class=${numeric[at + 1] && "num"}>${text(value)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  };
  /* A square or a triangle of shares. */
  rad.report.Matrix = ({ caption, names, rows }) => {
    const square = rows[0].length > 0;
    return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}>
      <table class="shares">
        <caption>
          ${caption}
        </caption>
        <tbody>
          ${
            square &&
            html`<tr>
              <td></td>
              ${names.map((name, at) => html`<th scope="col" title=${name}>${at + 1}</th>`)}
            </tr>`
          }
          ${rows.map(
            (row, at) =>
              html`<tr>
                <th scope="row">${at + 1} ${names[at]}</th>
                ${row.map((value) => html`<td style=${rad.report.shade(value)}>${rad.number(value)}</td>`)}
                ${!square && html`<th scope="col" title=${names[at]}>${at + 1}</th>`}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  };
}
