"use strict";
{
  const { html, number, signed, between, count } = rad;
  const { data, range, hasDebates, Faults, Scroll, Table, Matrix } = rad.report;

  const Interval = ({ row, base, at }) => {
    const { value, low, high } = row;
    return html`<svg class="interval" role="img" aria-label=${between(low, high) || "no interval"}>
      ${
        base?.low != null &&
        html`<rect
          class="band"
          x="${at(base.low)}%"
          width="${at(base.high) - at(base.low)}%"
          height="100%"
        />`
      }
      ${base && html`<line class="zero" x1="${at(base.value)}%" x2="${at(base.value)}%" y2="100%" />`}
      ${low != null && html`<line class="bar" x1="${at(low)}%" x2="${at(high)}%" y1="50%" y2="50%" />`}
      <line class="tick" x1="${at(value)}%" x2="${at(value)}%" y1="15%" y2="85%" />
    </svg>`;
  };
  /* A text, or a difference; only an opened row has room for its interval. */
  const Cell = ({ cell, isOpened }) => {
    if (!Array.isArray(cell)) {
      return cell;
    }
    const [size, low, high, isSure] = cell;
    const limits = between(low, high);
    return html`<span class=${isSure ? "sure" : "soft"} title=${limits}
      >${signed(size)}${isOpened && ` ${limits}`}</span
    >`;
  };
  const ticks = (low, high) => {
    const power = 10 ** Math.floor(Math.log10(high - low || 1));
    const step = [0.2, 0.5, 1, 2]
      .map((size) => size * power)
      .find((size) => (high - low) / size <= 5);
    const first = Math.ceil(low / step);
    const size = Math.floor(high / step) - first + 1;
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    return range(size).map((at) => [(first + at) * step, number((first + at) * step, digits)]);
  };
  const Details = ({ row, board }) => {
    const words = data.lengths?.[row.run];
    return html`<div class="opened">
      <div>
        <p>
          <b>${row.run}</b> ${data.abouts[row.run] || row.about}${" "}
          <span class="soft"
            >${number(row.value, board.digits)} ${between(row.low, row.high, board.digits)}</span
          >
        </p>
        <p class="row soft">
          ${board.columns.map(
            (names, at) =>
              row.cells[at] &&
              html`<span
                >${names.join(" ").trim()}: <${Cell} cell=${row.cells[at]} isOpened
              /></span>`,
          )}
        </p>
        ${words && html`<p class="soft">Mean words per response: ${words[1]} (middle 90 %: ${words[0]} to ${words[2]})</p>`}
        <${Faults} runs=${[row.run]} />
      </div>
      ${row.details && html`<${Table} ...${row.details} />`}
    </div>`;
  };

  const differing = (pair) => {
    const { claims, names, keys } = rad.report.debates();
    const runs = pair.map((name) => names.indexOf(name));
    const turns = claims.flatMap(({ index, text, debates, turns: size }) => {
      const [first, second] = runs.map((run) => debates.find(({ judges }) => judges.includes(run)));
      return range(first && second ? size : 0).map((turn) => {
        const differs = (_, at) =>
          first.letter(runs[0], turn, at) !== second.letter(runs[1], turn, at);
        const at = `d${index + 1}-t${turn + 1}`;
        return { at, text, turn, size: keys.filter(differs).length };
      });
    });
    return turns
      .filter(({ size }) => size)
      .sort((a, b) => b.size - a.size)
      .slice(0, 11)
      .map(
        ({ at, text, turn, size }) =>
          html`<li>
            <a href=${rad.address.text({ at, with: runs.join(".") })}>${text}</a>${" "}
            <span class="soft">turn ${turn + 1}, ${count(size, "criterion", "criteria")}</span>
          </li>`,
      );
  };
  const Pair = ({ board, pair }) => {
    const turns = rad.useMemo(() => (hasDebates ? differing(pair) : []), pair);
    const [run, , figures] = board.pairs.find((row) => pair.every((name) => row.includes(name)));
    const [text, ...others] = figures.map(([difference, low, high]) => {
      const [size, ...ends] =
        run === pair[0] ? [difference, low, high] : [-difference, -high, -low];
      return `${signed(size)} ${low == null ? "" : between(...ends)}`;
    });
    return html`<section class="reason pair" role="status" ref=${rad.intoView}>
      <p>
        <b>${pair.join(" − ")}: </b>
        ${`${text} ${figures[0][3] ? "" : "not "}significant, p\u00a0${figures[0][4]}.`}
      </p>
      <p class="row soft num">
        ${others.map(
          (other, at) =>
            html`<span class=${figures[at + 1][3] && "sure"}>${board.compared[at]} ${other}</span>`,
        )}${others[0] && html`<span>bold: significant</span>`}
      </p>
      <${Faults} runs=${pair} />
      ${
        turns[0] &&
        html`<details>
          <summary>
            They differ ${turns[10] ? "most on 10 turns" : `on ${count(turns.length, "turn")}`}
          </summary>
          <ol>
            ${turns.slice(0, 10)}
          </ol>
        </details>`
      }
    </section>`;
  };

  const Row = ({ row, board, base, at, open, toggle, pair, pick }) => {
    const badge = data.badges[row.run];
    return html`<tr class=${row.baseline ? "base" : ""}>
        <td class="num rank">${row.place}</td>
        <th scope="row">
          <span class="run">
            <button class="sort" aria-expanded=${open} onClick=${toggle}>
              <bdi
                >${row.run}${badge && html` <span class="faults" title=${badge}>${badge.split(":")[0]}</span>`}</bdi
              >
            </button>
            ${
              pick &&
              html`<input
                type="checkbox"
                class="no-print"
                aria-label="Compare ${row.run}"
                checked=${pair.includes(row.run)}
                onChange=${pick}
              />`
            }
          </span>
        </th>
        <td class="num"><b>${number(row.value, board.digits)}</b></td>
        <td class="plot">${row.value != null && html`<${Interval} ...${{ row, base, at }} />`}</td>
        ${row.cells.map((cell) => html`<td class="num more"><${Cell} cell=${cell} /></td>`)}
      </tr>
      ${
        open &&
        html`<tr>
          <td colspan=${4 + row.cells.length}><${Details} ...${{ row, board }} /></td>
        </tr>`
      }`;
  };

  const Rows = ({ board }) => {
    const [opened, setOpened] = rad.useState([]);
    const [pair, setPair] = rad.useState(board.pair || []);
    board.pair = pair; // for when the tab is opened again
    const { rows, columns, measure } = board;
    const base = rows.find(
      ({ run, baseline, value }) => (board.base ? run === board.base : baseline) && value !== null,
    );
    const values = rows
      .flatMap((row) => [row.low, row.value, row.high])
      .filter((value) => value !== null);
    const low = Math.min(...values);
    const high = Math.max(...values);
    const at = (value) => 10 + (80 * (value - low)) / (high - low || 1);
    const flip = (list, name) =>
      list.includes(name) ? list.filter((run) => run !== name) : [...list, name];
    return html`<${Scroll} name="Ranking by ${measure}">
        <table class="ranking">
          <thead>
            <tr>
              <th scope="col" class="num rank">rank</th>
              <th scope="col">run</th>
              <th scope="col" class="num">${measure}</th>
              <td class="axis" aria-hidden="true">
                ${
                  values.length > 0 &&
                  ticks(low, high).map(
                    ([tick, text], place, [[first]]) =>
                      at(tick) < 94 - 4 * text.length &&
                      html`<i
                        style=${{
                          left: `${at(tick)}%`,
                          width: place ? `${(at(tick) - at(first)) / place}%` : "auto",
                        }}
                        >​${text}</i
                      >`,
                  )
                }
              </td>
              ${columns.map(([head, sub]) => html`<th scope="col" class="num more">${head}${sub && html`<small>${sub}</small>`}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (row) =>
                html`<${Row}
                  key=${row.run}
                  ...${{ row, board, base, at, pair }}
                  open=${opened.includes(row.run)}
                  toggle=${() => setOpened(flip(opened, row.run))}
                  pick=${board.pairs.some((runs) => runs.includes(row.run)) && (() => setPair(flip(pair, row.run).slice(-2)))}
                />`,
            )}
          </tbody>
        </table>
      <//>
      <p class="soft">
        ${rows.some(({ place }) => place.startsWith("≈")) && `${data.equal} In CSV: 1.`}${base && ` *: a baseline (dashed), without a rank${board.base && "; runs with a bold + beat it"}.`}${board.pairs[0] && ` Equal runs: in the order given. A name opens its intervals. Select two runs to compare${board.base ? "." : "; report --baseline RUN compares all with one."}`}
      </p>
      ${pair[1] && html`<${Pair} key=${pair} ...${{ board, pair }} />`}`;
  };

  const Ranking = () =>
    data.boards.map((board, at) => {
      const cautions = [...(at ? [] : data.warnings), ...board.warnings].map(
        (text) => html`<p class="soft caution">${text}</p>`,
      );
      const [title, ...rest] = board.title.split("; ");
      return html`<section class="board">
        <${at ? "h2" : "h1"}>${title}<//>
        ${rest[0] && html`<p class="answer">${rest.join("; ")}</p>`} ${cautions.slice(0, 2)}
        ${
          cautions[2] &&
          html`<details>
            <summary>${count(cautions.length - 2, "more warning")}</summary>
            ${cautions.slice(2)}
          </details>`
        }
        ${board.rows.length > 0 && html`<${Rows} ...${{ board }} />`}
        ${board.text.map((text) => html`<p>${text}</p>`)}
        <p class="soft">${board.note}</p>
        ${board.matrix && html`<${Matrix} ...${board.matrix} />`}
        ${board.tables.map(
          (table) =>
            html`<details>
              <summary>${table.caption}</summary>
              <${Table} ...${table} />
            </details>`,
        )}
        ${board.link && html`<p><a href=${board.link}>Read the labelled debates with all verdicts</a></p>`}
      </section>`;
    });
  rad.report.tabs.ranking = () => Ranking;
}
