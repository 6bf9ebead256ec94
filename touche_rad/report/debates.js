"use strict";
/* The tab Debates. */
rad.report.tabs.debates = () => {
  const { html, count } = rad;
  const { range, contains } = rad.report;
  const {
    claims,
    names,
    order: ranked,
    keys,
    titles,
    answerOf,
    letterOf,
    filters,
    red,
    unit,
  } = rad.report.debates();
  const { judges } = rad.report.data;
  const MARKS = { long: 1, unsupported: 2, fallback: 4, unanswered: 8, nothing: 16 };
  const hasFilter = (filter) => filters.some(([name]) => name === filter);
  const isJudged = hasFilter("verdict");

  const picked = (state) => (state.with || "").split(".").filter(Boolean).map(Number);
  const debateOf = (claim, run) => claim.debates.find(({ runs }) => runs.includes(run));
  const lacks = (claim, turn) => (run) => !(turn < debateOf(claim, run)?.turns);
  const wanted = (state) => (state.run && !state.with ? [names.indexOf(state.run)] : picked(state));
  const runsOf = (claim, state) => {
    const chosen = wanted(state);
    const isChosen = chosen.length > 0;
    const runs = (isChosen ? chosen : ranked).filter((run) => debateOf(claim, run));
    return isChosen || claim.debates.length < 2 ? runs : runs.slice(0, 3);
  };
  const judgesOf = ({ judges }, runs) => judges.filter((run) => !runs.length || runs.includes(run));
  const debatesOf = (claim, runs) => [...new Set(runs.map((run) => debateOf(claim, run)))];

  /* How many verdicts of a turn fit; 1 if the filters are not on verdicts. */
  const fits = (debate, turn, state) => {
    if (state.mark && !(debate.mark(turn) & MARKS[state.mark])) {
      return 0;
    }
    if (!(state.verdict || state.label || state.disagree)) {
      return 1;
    }
    const judges = judgesOf(debate, picked(state));
    const asked = judges.filter((run) => !state.run || names[run] === state.run);
    const differs = state.label === "differs";
    const numbers = keys.map((key, at) => {
      const label = debate.label(turn, at);
      const said = new Set(judges.map((run) => debate.letter(run, turn, at)));
      said.delete("-");
      if (
        (state.maxim && key !== state.maxim) ||
        (state.label && (differs ? label === "-" : label !== letterOf(state.label, at))) ||
        (state.disagree && said.size < 2)
      ) {
        return 0;
      }
      const isFitting = (run) => {
        const letter = debate.letter(run, turn, at);
        const kinds = [letter, debate.isFallback(run, turn, at) && "*"];
        return (
          (!state.verdict || kinds.includes(letterOf(state.verdict, at))) &&
          (!differs || (letter !== "-" && letter !== label))
        );
      };
      return state.verdict || differs ? asked.filter(isFitting).length : 1;
    });
    return numbers.reduce((sum, number) => sum + number);
  };
  const differ = (claim, turn, state) => {
    const values = (of) =>
      new Set(runsOf(claim, state).map((run) => of(debateOf(claim, run), run))).size > 1;
    return (
      keys.some((_, at) => values((debate, run) => debate.letter(run, turn, at))) ||
      (state.differ === "1" && values((debate) => debate.hash(turn)))
    );
  };
  const matches = (claim, state) => {
    /* A debate or turn that a run lacks has no verdict. */
    const isMissing = (turn) =>
      state.verdict === "none" &&
      !(state.mark || state.label) &&
      wanted(state).some(lacks(claim, turn));
    const debates = wanted(state).length ? debatesOf(claim, runsOf(claim, state)) : claim.debates;
    let verdicts = 0;
    const turns = range(claim.turns).filter((turn) => {
      const before = verdicts;
      for (const debate of debates) {
        verdicts += turn < debate.turns && fits(debate, turn, state);
      }
      return (
        (isMissing(turn) || verdicts > before) && (!state.differ || differ(claim, turn, state))
      );
    });
    return turns.length || (debates.length && !claim.turns) ? { turns, verdicts } : null;
  };
  const search = async (claim, match, words) => {
    if (contains([claim.text, claim.debates.map(({ id }) => id)], words)) {
      return match;
    }
    const part = await rad.report.part(`d${claim.part}`);
    const found = match.turns.filter((turn) =>
      claim.debates.some(({ place }) => {
        const { user, answer } = part[place][turn] || {};
        return contains([user, answer?.content, answer?.citations], words);
      }),
    );
    return found.length ? { turns: found } : null;
  };

  /* Red votes: against the label, or twice those against the majority, or of no. */
  const redOf = (label, votes) => {
    const against = (answer) => votes.filter((vote) => vote !== answer).length;
    if (hasFilter("label")) {
      return label === "-" ? 0 : against(label);
    }
    return votes.length < 2 || !hasFilter("disagree")
      ? votes.filter((vote) => vote === "n").length
      : 2 * Math.min(...votes.map(against));
  };
  /* Shares of red: one strip for the claim, or one for each selected run. */
  const stripsOf = (claim, state) => {
    const chosen = wanted(state);
    const share = (debates, turn, at) => {
      let [red, all] = [0, 0];
      for (const debate of debates) {
        const letters = judgesOf(debate, chosen).map((run) => debate.letter(run, turn, at));
        const votes = letters.filter((letter) => letter !== "-");
        red += redOf(debate.label(turn, at), votes);
        all += votes.length;
      }
      return Math.min(1, red / (all || 1));
    };
    const strip = (debates) =>
      range(Math.max(...debates.map(({ turns }) => turns))).flatMap((turn) =>
        keys.map((key, at) => (state.maxim && key !== state.maxim ? 0 : share(debates, turn, at))),
      );
    return chosen.length
      ? debatesOf(claim, runsOf(claim, state)).map((debate) => strip([debate]))
      : [strip(claim.debates)];
  };
  const Strip = ({ shares }) => {
    const rows = keys.length;
    const size = { width: (shares.length / rows) * 12, height: rows * 7 };
    return html`<svg
      class="strip"
      aria-hidden="true"
      viewBox="0 0 ${size.width} ${size.height}"
      ...${size}
    >
      ${shares.map(
        (share, at) =>
          html`<path
            opacity=${0.12 + 0.88 * share}
            d="M${Math.floor(at / rows) * 12} ${(at % rows) * 7}h11v6h-11z"
          />`,
      )}
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
            <pre>${text}</pre>`,
      )}
    </details>`;
  const Calls = ({ calls }) =>
    calls.map(
      ([run, list]) =>
        html`<details class="calls">
          <summary>${names[run]}: ${count(list.length, "model call")}</summary>
          ${list.map((call) => html`<${Call} ...${call} />`)}
        </details>`,
    );

  const Verdicts = ({ columns, runs, state }) => {
    const labelOf = ({ debate, turn }) => keys.map((_, at) => debate.label(turn, at));
    const letters = labelOf(columns[0]);
    const isLabelled = letters.some((letter) => letter !== "-");
    const isAlike = columns.every((column) => labelOf(column).join() === letters.join());
    const label =
      isLabelled && isAlike && letters.map((letter, at) => letter !== "-" && answerOf(letter, at));
    const lettersOf = ({ debate, turn }, run) => keys.map((_, at) => debate.letter(run, turn, at));
    const judged = columns.flatMap((column) =>
      (column.record.judged || [])
        .filter(([run]) => runs.includes(run))
        .map((verdicts) => [column, ...verdicts]),
    );
    const first = Math.max(
      0,
      judged.findIndex(([, run]) => names[run] === state.run),
    );
    const rows = judged.map(([column, run, scores, reasons]) => {
      const said = lettersOf(column, run);
      const expected = isLabelled ? labelOf(column) : lettersOf(...judged[first]);
      const compared = range(keys.length).filter((at) => expected[at] !== "-");
      const right = compared.filter((at) => said[at] === expected[at]);
      return {
        run,
        said,
        name: names[run],
        about: judges[names[run]],
        verdicts: said.map((letter, at) => ({
          ...answerOf(letter, at),
          name: titles[at],
          score: scores[at],
          rationale: reasons[at],
          differs: letter !== "-" && compared.includes(at) && !right.includes(at),
        })),
        end: `${right.length} of ${compared.length}`,
      };
    });
    /* The criterion of the filter, or that differs. */
    const isOpen = (key, at) =>
      state.maxim
        ? key === state.maxim
        : picked(state).length > 1
          ? new Set(rows.map(({ said }) => said[at])).size > 1
          : rows[first]?.verdicts[at].differs;
    const column = Math.max(0, keys.findIndex(isOpen));
    const cells = () => document.querySelector(".cell[tabindex='0']").closest("tr").cells;
    titles.forEach((title, at) => {
      const open = () => cells()[at + 1].firstElementChild.click();
      rad.keys({ [at + 1]: [`The reason for ${title}`, open] });
    });
    const calls = columns.flatMap(({ record }) => record.calls || []);
    return html`${
        (rows.length > 0 || label) &&
        html`<${rad.VerdictTable}
          criteria=${titles}
          ...${{ label, rows }}
          key="${first}.${column}"
          start="${first}.${column}"
          end=${isLabelled && rows.length > 0 && "right"}
          differs="from ${isLabelled ? "the label" : rows[first].name}"
          more=${(row) => html`<${Calls} calls=${calls.filter(([run]) => run === row.run)} />`}
        />`
      } <${Calls} calls=${calls.filter(([run]) => !rows.some((row) => row.run === run))} />`;
  };

  const Message = ({ text, find }) => html`<blockquote class="text">${find(text)}</blockquote>`;
  /* A response; citations that annotators did not see are folded. */
  const Response = ({ debate, record: { answer }, turn, scope, find, shown = 2 }) => {
    if (!answer) {
      return html`<p class="soft">No response.</p>`;
    }
    const has = (mark) => (debate.mark(turn) & MARKS[mark]) > 0;
    const cited = answer.citations.map(
      (citation) => html`<${rad.Citation} ...${{ citation, scope, find }} />`,
    );
    return html`<${rad.Answer} ...${{ answer, scope, find }} />
      <p class="soft">
        ${count(answer.words, "word")}${has("long") && " (over 60)"}${!cited.length && " · no citations"}
        ${has("unsupported") && " · unsupported: by shared words, not a judge"}
        ${has("fallback") && html` · <b class="no">a fallback debater answered</b>`}
      </p>
      ${cited.slice(0, shown)}
      ${
        cited.length > shown &&
        html`<details>
          <summary>
            ${count(cited.length - shown, "citation")}${shown > 0 && ", which annotators did not see"}
          </summary>
          ${cited.slice(shown)}
        </details>`
      }`;
  };

  const Claim = ({ item: claim, value, match, state, turn, turnTo, find, id }) => {
    const runs = runsOf(claim, state);
    /* A filter by run shows all judges of its debates. */
    const shown =
      state.run && !state.with ? debatesOf(claim, runs).flatMap((debate) => debate.runs) : runs;
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
    return html`${
        runs.length > 0 &&
        html`<p class="soft">
          ${[`${shown.length} of ${count(names.length, "run")}${shown.length < names.length ? " shown; select others in “Compare …”" : ""}`, ...new Set(claim.debates.map(({ id }) => id).filter((id) => !/^debate-\d+$/.test(id)))].join(" · ")}
        </p>`
      }
      ${
        whole.length > 0 &&
        html`<section aria-label="Verdicts on the whole debate">
          <h3>On the whole debate</h3>
          <${Verdicts} ...${{ columns: whole, runs: shown, state }} />
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
      ${[...new Set([...wanted(state), ...runs])]
        .filter(lacks(claim, at))
        .map(
          (run) =>
            html`<p class="notice">
              ${`${names[run]} has no ${debateOf(claim, run) ? `turn ${at + 1}` : "debate on this claim"}.`}
            </p>`,
        )}
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
                <summary>${count(at, "earlier turn")}</summary>
                ${columns[0].records.slice(0, at).map(
                  ({ user, answer }) =>
                    html`<${Message} text=${user} ...${{ find }} />
                      <p class="text">${find(answer?.content || "No response.")}</p>`,
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
                          <h3>
                            ${runs
                              .filter((run) => column.debate.runs.includes(run))
                              .map((run) => names[run])
                              .join(", ")}
                          </h3>
                          ${!isSame && html`<${Message} text=${column.record.user} ...${{ find }} />`}
                          <${Response} ...${column} scope="${scope}-r${place}" shown=${0} />
                        </div>`,
                    )}
                  </div>`
            }
          </div>
          ${!whole && html`<div><${Verdicts} ...${{ columns, runs: shown, state }} /></div>`}
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
        options=${[["", "Compare …"], ...filters[0][2].map(([name]) => [names.indexOf(name), name])]}
        pick=${(run) => pick([...others, Number(run)])}
      />
      <${rad.Chips}
        chips=${chosen.map((run) => [run, names[run]])}
        remove=${(run) => pick(chosen.filter((other) => other !== run))}
      />`;
  };
  const redness = (claim, state) => {
    const shares = stripsOf(claim, state).flat();
    return shares.reduce((total, share) => total + share, 0) / shares.length || 0;
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
          >${isJudged && stripsOf(item, state).map((shares) => html`<${Strip} ...${{ shares }} />`)}</span
        >
        ${match.turns.length < item.turns && html`<span class="soft">${match.turns.length} of ${count(item.turns, "turn")}</span>`}`,
    Item: Claim,
  };
  return ({ address }) => {
    spec.items = rad.useMemo(() => {
      const order = new Map(claims.map((claim) => [claim, redness(claim, address)]));
      return isJudged ? claims.toSorted((a, b) => order.get(b) - order.get(a)) : claims;
    }, [address.run, address.with, address.maxim]);
    const of = wanted(address).map((run) => names[run]);
    const what = of.length === 1 && !hasFilter("label") ? "verdicts of no" : red;
    spec.about =
      isJudged &&
      `Most red first, of ${of.join(", ") || "all runs"}${of.length > 1 ? " (strips in this order)" : ""}. Red: the share of ${what}. Strip: turns →, criteria ↓. Numbered as in the run with most debates.`;
    return html`<${rad.report.Reader} ...${{ spec, address }} />`;
  };
};
