"use strict";
/* The tab Debates: a claim, its debates turn by turn, and the verdicts. */
rad.report.tabs.debates = () => {
  const { html, count } = rad;
  const { range, contains } = rad.report;
  const { claims, names, keys, titles, answerOf, letterOf, filters, red, unit } =
    rad.report.debates();
  const { abouts, judges } = rad.report.data;
  const MARKS = { long: 1, unsupported: 2, fallback: 4, unanswered: 8, judged: 16 };
  const MANY = 8;
  const hasFilter = (filter) => filters.some(([name]) => name === filter);
  const isJudged = hasFilter("verdict");

  const picked = (state) => (state.with || "").split(".").filter(Boolean).map(Number);
  const debateOf = (claim, run) => claim.debates.find(({ runs }) => runs.includes(run));
  const wanted = (state) => (state.run && !state.with ? [names.indexOf(state.run)] : picked(state));
  /* The shown runs: these, else the first few. */
  const runsOf = (claim, state) => {
    const chosen = wanted(state);
    const runs = range(names.length).filter(
      (run) => debateOf(claim, run) && (!chosen.length || chosen.includes(run)),
    );
    return chosen.length || claim.debates.length < 2 ? runs : runs.slice(0, 3);
  };
  const judgesOf = ({ judges }, runs) => judges.filter((run) => !runs.length || runs.includes(run));
  const debatesOf = (claim, runs) => [...new Set(runs.map((run) => debateOf(claim, run)))];

  const fits = (debate, turn, state) => {
    if (state.mark && !(debate.mark(turn) & MARKS[state.mark])) {
      return false;
    }
    if (!(state.verdict || state.label || state.disagree)) {
      return true;
    }
    const judges = judgesOf(debate, picked(state));
    const asked = judges.filter((run) => !state.run || names[run] === state.run);
    const differs = state.label === "differs";
    return keys.some((key, at) => {
      const label = debate.label(turn, at);
      const said = new Set(judges.map((run) => debate.letter(run, turn, at)));
      said.delete("-");
      if (
        (state.maxim && key !== state.maxim) ||
        (state.label && (differs ? label === "-" : label !== letterOf(state.label, at))) ||
        (state.disagree && said.size < 2)
      ) {
        return false;
      }
      const fit = (letter) =>
        (!state.verdict || letter === letterOf(state.verdict, at)) &&
        (!differs || (letter !== "-" && letter !== label));
      return !(state.verdict || differs) || asked.some((run) => fit(debate.letter(run, turn, at)));
    });
  };
  /* Whether runs differ on a turn, in verdicts or responses. */
  const differ = (claim, turn, state) => {
    const values = (of) =>
      new Set(
        runsOf(claim, state).map((run) => {
          const debate = debateOf(claim, run);
          return turn < debate.turns && of(debate, run);
        }),
      ).size > 1;
    return (
      keys.some((_, at) => values((debate, run) => debate.letter(run, turn, at))) ||
      (state.differ === "1" && values((debate) => debate.hash(turn)))
    );
  };
  const matches = (claim, state) => {
    /* A debate that a run lacks has no verdict. */
    const isMissing =
      state.verdict === "none" &&
      !(state.mark || state.label) &&
      wanted(state).some((run) => !debateOf(claim, run));
    const debates = wanted(state).length ? debatesOf(claim, runsOf(claim, state)) : claim.debates;
    const turns = range(claim.turns).filter(
      (turn) =>
        (isMissing || debates.some((debate) => turn < debate.turns && fits(debate, turn, state))) &&
        (!state.differ || differ(claim, turn, state)),
    );
    return turns.length || (debates.length && !claim.turns) ? { turns } : null;
  };
  const search = async (claim, { turns }, words) => {
    if (contains([claim.text, claim.debates.map(({ id }) => id)], words)) {
      return { turns };
    }
    const part = await rad.report.part(`d${claim.part}`);
    const found = turns.filter((turn) =>
      claim.debates.some(({ place }) => {
        const { user, answer } = part[place][turn] || {};
        return contains([user, answer?.content, answer?.citations], words);
      }),
    );
    return found.length ? { turns: found } : null;
  };

  /* How contested each turn and criterion is, from 0 to 4: the share of judges against the label,
     else twice the share against the majority; of one judge, whether it says no. */
  const isOneJudge = !hasFilter("disagree");
  const levelsOf = (debate, state) => {
    const runs = judgesOf(debate, wanted(state));
    const level = (turn, at) => {
      const label = debate.label(turn, at);
      const votes = runs.map((run) => debate.letter(run, turn, at)).filter((vote) => vote !== "-");
      const share = (isRed) => votes.filter(isRed).length / (votes.length || 1);
      if (label !== "-") {
        return 4 * share((vote) => vote !== label);
      }
      return votes.length < 2 || isOneJudge
        ? 4 * share((vote) => vote === "n")
        : Math.min(4, ...votes.map((vote) => 8 * share((other) => other !== vote)));
    };
    return range(debate.turns).flatMap((turn) =>
      keys.map((key, at) => (state.maxim && key !== state.maxim ? 0 : Math.ceil(level(turn, at)))),
    );
  };
  const Strip = ({ debate, state }) => {
    const size = { width: debate.turns * 12, height: keys.length * 7 };
    const paths = ["", "", "", "", ""];
    levelsOf(debate, state).forEach((level, at) => {
      paths[level] += `M${Math.floor(at / keys.length) * 12} ${(at % keys.length) * 7}h11v6h-11z`;
    });
    return html`<svg
      class="strip"
      aria-hidden="true"
      viewBox="0 0 ${size.width} ${size.height}"
      ...${size}
    >
      ${paths.map((path, level) => path && html`<path opacity=${0.12 + 0.22 * level} d=${path} />`)}
    </svg>`;
  };

  const Call = ({ step, cached, seconds, tokens, fault, messages, answer }) =>
    html`<details>
      <summary>
        ${step}
        <span class="soft">${cached ? "from the cache" : `${seconds ?? "–"} s, ${tokens}`}</span>
        <span class="no">${fault}</span>
      </summary>
      ${[...messages, ["answer", answer]].map(
        ([role, text]) =>
          text &&
          html`<p class="who">${role}</p>
            <pre dir="auto">${text}</pre>`,
      )}
    </details>`;
  const Calls = ({ calls }) =>
    calls.map(
      ([run, list]) =>
        html`<details class="calls">
          <summary class="soft">${names[run]}: ${count(list.length, "model call")}</summary>
          ${list.map((call) => html`<${Call} ...${call} />`)}
        </details>`,
    );

  /* Of many judges also the counts. */
  const Verdicts = ({ columns, runs, state }) => {
    const labelOf = ({ debate, turn }) => keys.map((_, at) => debate.label(turn, at));
    const letters = labelOf(columns[0]);
    const isLabelled = letters.some((letter) => letter !== "-");
    const isAlike = columns.every((column) => labelOf(column).join() === letters.join());
    const label =
      isLabelled && isAlike
        ? letters.map((letter, at) => letter !== "-" && answerOf(letter, at))
        : null;
    const rows = columns.flatMap(({ debate, record, turn }) =>
      (record.judged || [])
        .filter(([run]) => runs.includes(run) || (state.run && !picked(state).length))
        .map(([run, scores, reasons]) => {
          const expected = labelOf({ debate, turn });
          const said = keys.map((_, at) => debate.letter(run, turn, at));
          const isKnown = (at) => expected[at] !== "-" && said[at] !== "-";
          const right = said.filter((letter, at) => isKnown(at) && letter === expected[at]).length;
          return {
            run,
            name: names[run],
            about: judges[names[run]],
            verdicts: said.map((letter, at) => ({
              ...answerOf(letter, at),
              name: titles[at],
              score: scores[at],
              rationale: reasons[at],
              differs: isKnown(at) && letter !== expected[at],
            })),
            end: `${right} of ${expected.filter((letter) => letter !== "-").length}`,
          };
        }),
    );
    const first = Math.max(
      0,
      rows.findIndex(({ name }) => name === state.run),
    );
    const differing = rows[first]?.verdicts.findIndex(({ differs }) => differs);
    const column = Math.max(0, keys.indexOf(state.maxim), state.maxim ? 0 : (differing ?? 0));
    const cells = () => document.querySelector(".cell[tabindex='0']").closest("tr").cells;
    rad.keys(
      Object.fromEntries(
        titles.map((title, at) => [
          at + 1,
          [`The reason for ${title}`, () => cells()[at + 1].firstElementChild.click()],
        ]),
      ),
    );
    const calls = columns.flatMap(({ record }) => record.calls || []);
    const isRow = ([run]) => rows.some((row) => row.run === run);
    const votes = (place, yes) => rows.filter(({ verdicts }) => verdicts[place].yes === yes).length;
    return html`${
        rows.length > MANY &&
        html`<p>
          ${titles.map((title, place) => `${title}: ${votes(place, true)} yes, ${votes(place, false)} no`).join(" · ")}
        </p>`
      }
      ${
        (rows.length > 0 || label) &&
        html`<div class="scroll">
          <${rad.VerdictTable}
            criteria=${titles}
            ...${{ label, rows }}
            key=${`${first}.${column}`}
            start="${first}.${column}"
            end=${isLabelled && rows.length > 0 && "right"}
            more=${(row) => html`<${Calls} calls=${calls.filter(([run]) => run === row.run)} />`}
          />
        </div>`
      }
      <${Calls} calls=${calls.filter((call) => !isRow(call))} />
      ${isLabelled && rows.length > 0 && html`<p class="soft">A framed verdict differs from the label.</p>`}`;
  };

  const Message = ({ text, find }) =>
    html`<blockquote class="text" dir="auto">${find(text)}</blockquote>`;
  /* A response; citations that annotators did not see are folded. */
  const Response = ({ debate, record: { answer }, turn, scope, find, shown = 2 }) => {
    if (!answer) {
      return html`<p class="soft">No response.</p>`;
    }
    const cited = answer.citations.map(
      (citation) => html`<${rad.Citation} ...${{ citation, scope, find }} />`,
    );
    return html`<${rad.Answer} ...${{ answer, scope, find }} />
      <p class="soft">
        ${count(answer.words, "word")}${debate.mark(turn) & MARKS.long ? " (over 60)" : ""}${!cited.length && " · no citations"}
        ${(debate.mark(turn) & MARKS.fallback) > 0 && html` · <b class="no">a fallback debater answered</b>`}
      </p>
      ${cited.slice(0, shown)}
      ${
        cited.length > shown &&
        html`<details>
          <summary class="soft">
            ${count(cited.length - shown, "citation")}${shown > 0 && ", which annotators did not see"}
          </summary>
          ${cited.slice(shown)}
        </details>`
      }`;
  };

  const Claim = ({ item: claim, value, match, state, turn, turnTo, find, id }) => {
    const runs = runsOf(claim, state);
    const all = claim.debates.flatMap((debate) => debate.runs);
    const at = Math.min(turn, claim.turns - 1);
    const columnsAt = (turnOf) =>
      debatesOf(claim, runs)
        .map((debate) => ({ debate, turn: turnOf(debate), records: value[debate.place], find }))
        .filter((column) => column.turn < column.debate.turns)
        .map((column) => ({ ...column, record: column.records[column.turn] }));
    const columns = columnsAt(() => at);
    const whole = unit === "debate" && columnsAt(({ turns }) => turns - 1);
    const isSame = new Set(columns.map(({ record }) => record.user)).size === 1;
    const scope = `${id}-t${at + 1}`;
    const one = columns.length === 1;
    const title = ({ runs: all }) =>
      all
        .filter((run) => runs.includes(run))
        .map((run) => names[run])
        .join(", ");
    return html`<p class="soft">
        ${[`${runs.length} of ${count(all.length, "run")}`, ...new Set(claim.debates.map((debate) => debate.id))].join(" · ")}
      </p>
      ${wanted(state)
        .filter((run) => !debateOf(claim, run))
        .map((run) => html`<p class="notice">${names[run]} has no debate on this claim.</p>`)}
      ${
        whole.length > 0 &&
        html`<section aria-label="Verdicts on the whole debate">
          <h3>On the whole debate</h3>
          <${Verdicts} ...${{ columns: whole, runs, state }} />
        </section>`
      }
      <div class="row turns no-print" role="group" aria-label="Turns">
        ${range(runs.length && claim.turns).map(
          (place) =>
            html`<button
              aria-pressed=${place === at}
              class=${match?.turns.includes(place) ? "" : "other"}
              onClick=${() => turnTo(place)}
            >
              ${(place === 0 || place === at) && "Turn "}${place + 1}
            </button>`,
        )}
      </div>
      ${
        columns.length > 0 &&
        html`<section
          class="turn ${one && !whole && "beside"}"
          key=${at}
          id=${scope}
          aria-label="Turn ${at + 1}"
        >
          <div>
            ${
              at > 0 &&
              html`<details>
                <summary class="soft">${count(at, "earlier turn")}</summary>
                ${columns[0].records.slice(0, at).map(
                  ({ user, answer }) =>
                    html`<${Message} text=${user} ...${{ find }} />
                      <p class="text" dir="auto">${find(answer?.content || "No response.")}</p>`,
                )}
              </details>`
            }
            ${isSame && html`<${Message} text=${columns[0].record.user} ...${{ find }} />`}
            ${
              one
                ? html`<${Response} ...${{ ...columns[0], scope }} />`
                : html`<div
                    class="compare"
                    tabindex="0"
                    role="group"
                    aria-label="Answers of ${columns.length} runs"
                  >
                    ${columns.map(
                      (column, place) =>
                        html`<div>
                          <h3 title=${abouts[names[column.debate.runs[0]]]}>
                            ${title(column.debate)}
                          </h3>
                          ${!isSame && html`<${Message} text=${column.record.user} ...${{ find }} />`}
                          <${Response} ...${column} scope="${scope}-r${place}" shown=${0} />
                        </div>`,
                    )}
                  </div>`
            }
          </div>
          ${!whole && html`<div><${Verdicts} ...${{ columns, runs, state }} /></div>`}
        </section>`
      }`;
  };

  const Tools = ({ state, item, filter }) => {
    const chosen = picked(state);
    const pick = (list) => filter({ with: [...new Set(list)].join(".") });
    const others = chosen.length ? chosen : item ? runsOf(item, state).slice(0, 1) : [];
    return html`<${rad.Pick}
        label="Compare with a run"
        name="with"
        value=""
        options=${[["", "Compare …"], ...names.map((name, run) => [run, name])]}
        pick=${(run) => pick([...others, Number(run)])}
      />
      <${rad.Chips}
        chips=${chosen.map((run) => [run, names[run]])}
        remove=${(run) => pick(chosen.filter((other) => other !== run))}
      />`;
  };
  /* The mean level of a claim. */
  const contested = (claim, state) => {
    const levels = claim.debates.flatMap((debate) => levelsOf(debate, state));
    return levels.reduce((total, level) => total + level, 0) / levels.length || 0;
  };
  const spec = {
    name: "debates",
    noun: "debate",
    nouns: "debates",
    Tools: names.length > 1 && Tools,
    fields: filters,
    matches,
    search,
    Row: ({ item, match, state }) =>
      html`<span
          >${isJudged && debatesOf(item, runsOf(item, state)).map((debate) => html`<${Strip} ...${{ debate, state }} />`)}</span
        >
        ${match.turns.length < item.turns && html`<span class="soft">${match.turns.length} of ${count(item.turns, "turn")}</span>`}`,
    Item: Claim,
  };
  return ({ address }) => {
    spec.items = rad.useMemo(() => {
      const order = new Map(claims.map((claim) => [claim, contested(claim, address)]));
      return isJudged ? [...claims].sort((a, b) => order.get(b) - order.get(a)) : claims;
    }, [address.run, address.with, address.maxim]);
    const of = wanted(address).map((run) => names[run]);
    const what = of.length === 1 && red === "judges disagree" ? "no" : red;
    spec.about =
      isJudged &&
      `Most red first, of ${of.join(", ") || "all runs"}. Strip: turns →, criteria ↓; red: ${what}.`;
    return html`<${rad.report.Reader} ...${{ spec, address }} />`;
  };
};
