"use strict";
/* The data, parts that are loaded on demand, and what several views use. */
rad.report = { data: rad.island("report"), tabs: {} };
{
  const { html, report } = rad;
  const parts = new Map();
  const waiting = new Map();

  /* Parts: an element of this page, or a file in data/ that calls radPart. */
  window.radPart = (name, value) => {
    waiting.get(name)(value);
  };
  const inside = document.querySelector("script[id^=part-]") !== null;
  const fetchPart = (name) =>
    new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onerror = () =>
        reject(new Error(`data/${name}.js cannot be read: keep the folder data beside this page`));
      document.head.append(script);
    });
  report.part = (name) => {
    if (!parts.has(name)) {
      const loading = inside ? Promise.resolve(rad.island(`part-${name}`)) : fetchPart(name);
      loading.catch(() => parts.delete(name));
      parts.set(name, loading);
    }
    return parts.get(name);
  };
  report.range = (size) => [...Array(size).keys()];
  report.hasDebates = $("data-debates") !== null;

  /* The claims, their debates, and the verdicts as letters: y, n, or - for none. */
  const readDebates = () => {
    const index = rad.island("data-debates");
    const size = index.criteria.length;
    const claims = index.claims.map((text, at) => ({ index: at, text, debates: [], turns: 0 }));
    for (const row of index.debates) {
      const [at, part, id, runs, marks, hashes, judges, verdicts, labels, place, fallbacks] = row;
      const claim = claims[at];
      const turns = hashes.length / 5;
      claim.part = part;
      claim.turns = Math.max(claim.turns, marks.length);
      const indexOf = (judge, turn, criterion) =>
        turn < turns ? (judges.indexOf(judge) * turns + turn) * size + criterion : -1;
      claim.debates.push({
        place,
        id,
        runs,
        judges,
        turns,
        mark: (turn) => marks.charCodeAt(turn) - 48,
        hash: (turn) => hashes.slice(turn * 5, turn * 5 + 5),
        letter: (...verdict) => verdicts[indexOf(...verdict)] || "-",
        isFallback: (...verdict) => fallbacks.includes(indexOf(...verdict)),
        label: (turn, criterion) => labels[turn * size + criterion] || "-",
      });
    }
    return {
      ...index,
      claims,
      names: index.runs,
      keys: index.criteria.map(([key]) => key),
      titles: index.criteria.map(([, title]) => title),
      answerOf: (letter, at) => ({
        yes: { y: true, n: false }[letter] ?? null,
        answer: index.criteria[at][2][letter.charCodeAt(0) - 65],
      }),
      letterOf: (name, at) =>
        ({ yes: "y", no: "n", none: "-", fallback: "*" })[name] ??
        String.fromCharCode(65 + index.criteria[at][2].indexOf(name)),
    };
  };
  let debates;
  report.debates = () => (debates ??= readDebates());

  let refresh;
  report.go = (values) => {
    rad.address.write(values);
    refresh();
  };
  report.useAddress = () => {
    const [, render] = rad.useReducer((number) => number + 1, 0);
    refresh = render;
    rad.useEffect(() => addEventListener("hashchange", render), []);
    return rad.address.read();
  };
  report.shade = (share) => ({
    background: `color-mix(in srgb, var(--accent) ${Math.round(38 * Math.max(share || 0, 0))}%, transparent)`,
  });

  report.Faults = ({ runs }) =>
    report.data.faults.map(
      ([name, , text, href]) =>
        (!runs || runs.includes(name)) &&
        html`<p class="notice error">
          <b>${name}: </b>${report.hasDebates && href ? html`<a href=${href}>${text}</a>` : text}
        </p>`,
    );
  report.Scroll = ({ name, children }) =>
    html`<div class="scroll" tabindex="0" role="group" aria-label=${name}>${children}</div>`;
  /* A table of boards.page_table; on phones a row is a card. A cell: text, number, null, or
     [text, class, link]. */
  const plain = (cell) => (Array.isArray(cell) ? cell[0] : cell);
  const isEmpty = (cell) => [null, "", "–"].includes(plain(cell));
  const FIGURE = /^[[<≈ ]*[-−+\d.][-−\d.,%\] ]*$/;
  const size = (text) => parseFloat(text.replace(/^[[<≈ ]+/, "").replace("−", "-"));
  const order = (a, b) => size(a) - size(b) || a.localeCompare(b, "en", { numeric: true });
  report.Table = ({ caption, heads, rows, csv, isGrid }) => {
    const [{ by, down }, sort] = rad.useState({});
    const kinds = heads.map((_, at) => rows.some((row) => FIGURE.test(plain(row[at]))) && "num");
    const columns = [...heads.keys()].filter(
      (at) => !at || isGrid || rows.some((row) => !isEmpty(row[at])),
    );
    const inOrder = ({ [by]: a }, { [by]: b }) =>
      isEmpty(a) - isEmpty(b) || order(`${plain(a)}`, `${plain(b)}`) * (down ? -1 : 1);
    const shown = by === undefined ? rows : rows.toSorted(inOrder);
    const text = (value) => {
      if (typeof value !== "number") {
        return value || "–";
      }
      return Number.isInteger(value) && !isGrid ? value.toLocaleString("en") : rad.number(value);
    };
    const view = (cell, row, at) => {
      const [content, kind, href] = Array.isArray(cell) ? cell : [cell];
      return href && report.hasDebates
        ? html`<a href=${href} data-at="${row}.${at}" tabindex=${isGrid && (row || at) ? -1 : null}
            >${text(content)}</a
          >`
        : html`<span class=${kind}>${text(content)}</span>`;
    };
    const shade = (value) => (isGrid && Array.isArray(value) ? report.shade(value[0]) : null);
    return html`<${report.Scroll} name=${caption}>
      <table class=${isGrid ? "grid" : "cards"} onKeyDown=${rad.roving}>
        <caption>
          <b>${caption}</b
          >${" "}
          ${
            csv &&
            html`<a
              class="no-print"
              href=${csv}
              download="${caption}.csv"
              aria-label="${caption} as CSV"
              >CSV</a
            >`
          }
        </caption>
        <thead>
          <tr>
            ${columns.map(
              (at) =>
                html`<th
                  scope="col"
                  class=${kinds[at]}
                  aria-sort=${by === at ? (down ? "descending" : "ascending") : null}
                >
                  <button
                    class="sort"
                    onClick=${() => sort({ by: at, down: by === at ? !down : kinds[at] })}
                  >
                    ${heads[at]}
                  </button>
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (cells, row) =>
              html`<tr>
                ${columns.map((at) => {
                  const cell = cells[at];
                  return at
                    ? html`<td
                        class=${kinds[at]}
                        data-head=${isEmpty(cell) ? null : heads[at]}
                        style=${shade(cell)}
                      >
                        ${view(cell, row, at)}
                      </td>`
                    : html`<th scope="row"><bdi>${view(cell, row, 0)}</bdi></th>`;
                })}
              </tr>`,
          )}
        </tbody>
      </table>
    <//>`;
  };
  /* Heads are views, and a row is [name, [[share, view]], end]. */
  report.Shares = ({ caption, heads, rows }) =>
    html`<${report.Scroll} name=${caption}>
      <table class="shares">
        <caption>
          <b>${caption}</b>
        </caption>
        <tbody>
          ${
            heads &&
            html`<tr>
              <td></td>
              ${heads}
            </tr>`
          }
          ${rows.map(
            ([name, cells, end]) =>
              html`<tr>
                <th scope="row">${name}</th>
                ${cells.map(([share, view]) => html`<td style=${report.shade(share)}>${view}</td>`)}${end}
              </tr>`,
          )}
        </tbody>
      </table>
    <//>`;
  report.Matrix = ({ caption, names, rows }) => {
    const heads = names.map((name, at) => html`<th scope="col" title=${name}>${at + 1}</th>`);
    const isSquare = rows[0].length > 0;
    return html`<${report.Shares}
      caption=${caption}
      heads=${isSquare && heads}
      rows=${rows.map((row, at) => [
        `${at + 1} ${names[at]}`,
        row.map(([value, size]) => [
          value,
          html`${rad.number(value)} <small class="soft">${size}</small>`,
        ]),
        !isSquare && heads[at],
      ])}
    />`;
  };
}
