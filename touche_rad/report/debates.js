"use strict";
/* Debates: filter by run, maxim, verdict, marks and text; read them one by one, or compare runs. */
{
  const LONG = 1, UNSUPPORTED = 2, FALLBACK = 4, UNANSWERED = 8, FEW = 6;

  rad.report.debates = (section, data) => {
    const maxims = data.maxims, names = data.runs.map((run) => run.name);
    const debates = data.debates.map(([claim, part, id, runs, marks, hashes, judges, verdicts, labels], index) =>
      ({ index, claim, part, id, runs, marks, hashes, judges, verdicts, labels, turns: marks.length }));
    const first = new Map();
    debates.forEach((one) => { if (!first.has(one.part)) { first.set(one.part, one.index); } });
    const claims = data.claims.map((text, index) => ({ index, text, debates: [], ofRun: new Map() }));
    for (const one of debates) {
      claims[one.claim].debates.push(one);
      for (const run of one.runs) { claims[one.claim].ofRun.set(run, one); }
    }
    const letter = (one, judge, turn, maxim) => one.verdicts[(judge * one.turns + turn) * 4 + maxim];
    const label = (one, turn, maxim) => one.labels[turn * 4 + maxim] || "-";
    const hash = (one, turn) => one.hashes.slice(turn * 5, turn * 5 + 5);

    /* Whether a turn fits the filter. */
    const fits = (one, turn, state, run, among) => {
      const mark = parseInt(one.marks[turn], 16);
      if (state.fallback && !(mark & FALLBACK)) { return false; }
      if (state.mark === "long" && !(mark & LONG)) { return false; }
      if (state.mark === "unsupported" && !(mark & UNSUPPORTED)) { return false; }
      if (state.mark === "unanswered" && !(mark & UNANSWERED)) { return false; }
      if (!(state.verdict || state.label || state.disagree)) { return true; }
      for (let maxim = 0; maxim < 4; maxim += 1) {
        if (state.maxim && maxims[maxim] !== state.maxim) { continue; }
        const known = label(one, turn, maxim);
        if ((state.label === "yes" && known !== "y") || (state.label === "no" && known !== "n") || (state.label && known === "-")) { continue; }
        let yes = false, no = false, right = !state.verdict && state.label !== "differs";
        one.judges.forEach((judge, place) => {
          if (among && !among.includes(judge)) { return; }
          const said = letter(one, place, turn, maxim);
          if (said === "y") { yes = true; } else if (said === "n") { no = true; }
          if (run >= 0 && judge !== run) { return; }
          const wanted = !state.verdict || said === { yes: "y", no: "n", none: "-" }[state.verdict];
          const differs = state.label !== "differs" || (said !== "-" && said !== known);
          if (wanted && differs) { right = true; }
        });
        if (right && (!state.disagree || (yes && no))) { return true; }
      }
      return false;
    };

    const matchDebate = (one, state) => {
      const run = state.run ? names.indexOf(state.run) : -1;
      if (state.run && !one.runs.includes(run)) { return null; }
      const turns = [];
      for (let turn = 0; turn < one.turns; turn += 1) { if (fits(one, turn, state, run)) { turns.push(turn); } }
      return turns.length || !one.turns ? { turns } : null;
    };

    /* Whether the chosen runs differ on a turn: in their verdicts, or in their responses. */
    const differ = (claim, turn, runs, only) => {
      const found = runs.map((run) => [run, claim.ofRun.get(run)]).filter(([, one]) => one && turn < one.turns);
      for (let maxim = 0; maxim < 4; maxim += 1) {
        const said = new Set(found.map(([run, one]) => letter(one, one.judges.indexOf(run), turn, maxim)).filter((one) => one === "y" || one === "n"));
        if (said.size > 1) { return true; }
      }
      if (only === "verdicts") { return false; }
      return found.length < runs.length && found.length > 0 || new Set(found.map(([, one]) => hash(one, turn))).size > 1;
    };

    const matchClaim = (claim, state, runs) => {
      const ones = [...new Set(runs.map((run) => claim.ofRun.get(run)).filter(Boolean))];
      const most = Math.max(0, ...ones.map((one) => one.turns)), turns = [];
      for (let turn = 0; turn < most; turn += 1) {
        const right = ones.some((one) => turn < one.turns && fits(one, turn, state, -1, runs));
        if (right && (!state.differ || differ(claim, turn, runs, state.differ))) { turns.push(turn); }
      }
      return turns.length ? { turns } : null;
    };

    const wholes = new Map();
    /* The parts in lower case, for the search. A text is made lower case when it is first searched:
       a whole part at once would take longer than a frame. */
    const words = (part) => {
      if (!wholes.has(part)) {
        wholes.set(part, rad.report.part(`d${part}`).then((loaded) =>
          ({ loaded, arguments: [], debates: loaded.debates.map(() => []), text: null, hits: [] })));
      }
      return wholes.get(part);
    };
    const textTurns = async (one, turns, text) => {
      const whole = await words(one.part);
      if (whole.text !== text) { whole.text = text; whole.hits = []; }
      if (data.claims[one.claim].toLowerCase().includes(text) || one.id.toLowerCase().includes(text)) { return turns; }
      const place = one.index - first.get(one.part), found = whole.loaded.debates[place], lower = whole.debates[place];
      const hit = (number) => {
        const argument = whole.loaded.arguments[number];
        whole.arguments[number] ??= `${argument.id} ${argument.text.join(" ")}`.toLowerCase();
        return whole.hits[number] ??= whole.arguments[number].includes(text);
      };
      return turns.filter((at) => {
        const turn = found[at];
        lower[at] ??= `${turn.user} ${(turn.said || []).map((said) => said[0]).join(" ")}`.toLowerCase();
        return lower[at].includes(text) || (turn.cited || []).some(([number]) => hit(number));
      });
    };

    const load = async (one) => {
      const part = await rad.report.part(`d${one.part}`);
      return { turns: part.debates[one.index - first.get(one.part)], arguments: part.arguments };
    };

    const options = (values) => [["", "any"], ...values.map((value) => Array.isArray(value) ? value : [value, value])];
    const labelled = debates.some((one) => one.labels), judged = debates.some((one) => one.judges.length);
    const several = debates.some((one) => one.judges.length > 1);
    const fields = [
      names.length > 1 && { name: "run", label: "Run", options: options(names) },
      judged && { name: "maxim", label: "Maxim", options: options(maxims) },
      judged && { name: "verdict", label: "Verdict", options: options(["yes", "no", ["none", "no verdict"]]) },
      labelled && { name: "label", label: "Label", options: options(["yes", "no", ["differs", "differs from the verdict"]]) },
      { name: "mark", label: "Response", options: options([["long", "over 60 words"], ["unsupported", "a sentence without support"], ["unanswered", "no response"]]) },
      several && { name: "disagree", label: "judges disagree" },
      { name: "fallback", label: "fallback answered" },
    ].filter(Boolean);

    const runs = names.map((_, run) => run).filter((run) => debates.some((one) => one.runs.includes(run)));
    const chosen = (state) => {
      const picked = (state.with || "").split(".").map(Number).filter((run) => runs.includes(run) && state.with);
      return picked.length ? picked : runs.slice(0, 2);
    };
    let comparing = false;
    const modes = ["Read", "Compare"].map((name, at) => rad.h("button", { type: "button", onclick: () => switchTo(at === 1) }, name));
    const boxes = runs.map((run) => rad.h("input", { type: "checkbox", value: String(run) }));
    const picksTitle = rad.h("summary", { class: "button" }, "Runs");
    const only = rad.h("select", { name: "differ", "aria-label": "Turns to compare" },
      rad.h("option", { value: "" }, "all turns"), rad.h("option", { value: "1" }, "only where they differ"), rad.h("option", { value: "verdicts" }, "only where verdicts differ"));
    const picks = rad.h("details", { class: "picks" }, picksTitle, rad.h("div", { class: "fields" },
      rad.h("fieldset", null, rad.h("legend", null, "Runs to compare"), boxes.map((box, at) => rad.h("label", { class: "check" }, box, ` ${names[runs[at]]}`)))));
    const extra = runs.length > 1 ? rad.h("span", { class: "row modes" }, modes, picks, only) : null;

    const browser = new rad.report.Browser({
      section, prefix: "dc", noun: "debate", fields, extra,
      letter: () => comparing ? "c" : "d",
      items: () => comparing ? claims : debates,
      byIndex: (index) => (comparing ? claims : debates)[index],
      matches: (item, state) => comparing ? matchClaim(item, state, chosen(state)) : matchDebate(item, state),
      textMatch: async (item, match, text) => {
        if (!comparing) {
          const turns = await textTurns(item, match.turns, text);
          return turns.length ? { turns } : null;
        }
        const ones = [...new Set(chosen(browser.state).map((run) => item.ofRun.get(run)).filter(Boolean))];
        const kept = new Set();
        for (const one of ones) { for (const turn of await textTurns(one, match.turns.filter((at) => at < one.turns), text)) { kept.add(turn); } }
        return kept.size ? { turns: match.turns.filter((turn) => kept.has(turn)) } : null;
      },
      row: (item, match) => comparing
        ? [rad.h("span", { class: "claim", dir: "auto" }, `${item.index + 1}. ${item.text}`), rad.h("span", { class: "soft" }, `${match.turns.length} turn${match.turns.length === 1 ? "" : "s"}`)]
        : [rad.h("span", { class: "claim", dir: "auto" }, `${item.index + 1}. ${data.claims[item.claim]}`),
          rad.h("span", { class: "soft" }, `${item.runs.length > 1 ? `${item.runs.length} runs` : names[item.runs[0]]}${match.turns.length < item.turns ? `, ${match.turns.length} of ${item.turns} turns` : ""}`)],
      render: (item, match, state) => comparing ? renderClaim(item, match, state) : renderDebate(item, match, state),
    });

    /* The mode and the compared runs belong to the address, like the filter. */
    const readFields = browser.read.bind(browser), writeFields = browser.write.bind(browser), followAddress = browser.follow.bind(browser);
    browser.read = () => {
      const state = readFields();
      if (comparing) {
        const picked = boxes.filter((box) => box.checked).map((box) => box.value);
        if (picked.length) { state.with = picked.join("."); }
        state.view = "compare";
        if (only.value) { state.differ = only.value; }
      }
      return state;
    };
    browser.write = (state) => {
      writeFields(state);
      const picked = chosen(state);
      boxes.forEach((box) => { box.checked = picked.includes(Number(box.value)); });
      only.value = [...only.options].some((option) => option.value === state.differ) ? state.differ : "";
      dress();
    };
    browser.follow = (values) => {
      const place = browser.own(values.at);
      comparing = runs.length > 1 && (place ? place[0][0] === "c" : values.view === "compare");
      return followAddress(values);
    };
    const dress = () => {
      modes.forEach((button, at) => button.setAttribute("aria-pressed", String((at === 1) === comparing)));
      picks.hidden = only.hidden = !comparing;
      const picked = boxes.filter((box) => box.checked).length;
      picksTitle.textContent = `Runs (${picked || 2})`;
      section.classList.toggle("comparing", comparing);
    };
    const switchTo = (compare) => {
      if (compare === comparing) { return; }
      const one = browser.current?.item;
      const index = !one ? 0 : compare ? one.claim : (one.debates[0] || { index: 0 }).index;
      comparing = compare;
      browser.at = -1;
      browser.current = null;
      if (compare && !boxes.some((box) => box.checked)) { browser.write({ ...browser.state, view: "compare" }); }
      dress();
      browser.filter(browser.read(), [`${compare ? "c" : "d"}${index + 1}`, String(index + 1)]);
    };
    picks.addEventListener("input", dress);

    const permalink = (id, text) => rad.h("a", { href: `#${id}`, onclick: (event) => {
      event.preventDefault(); browser.scrollTo(id); browser.remember(id);
    } }, text);

    const title = (text, id, about) => rad.h("header", { id },
      rad.h("h3", { dir: "auto" }, permalink(id, text)), about && rad.h("p", { class: "soft" }, about));

    const renderDebate = async (one, match, state) => {
      const loaded = await load(one), id = `d${one.index + 1}`;
      const about = [one.runs.length > FEW ? `${one.runs.length} runs` : one.runs.map((run) => names[run]).join(", "), one.id && `id ${one.id}`].filter(Boolean).join(" · ");
      return [
        title(`${one.index + 1}. ${data.claims[one.claim]}`, id, about),
        !match && rad.ui.notice("This debate does not match the filter."),
        loaded.turns.map((turn, at) => renderTurn(one, turn, at, `${id}-t${at + 1}`, loaded.arguments, state, !match || match.turns.includes(at))),
      ];
    };

    const renderTurn = (one, turn, at, id, cited, state, right) => {
      const body = () => [userBubble(turn, permalink(id, `Turn ${at + 1}`)), response(one, turn, at, id, cited, state)];
      if (right) { return rad.h("section", { class: "turn", id }, body()); }
      const rest = rad.h("div");
      return rad.h("section", { class: "turn other", id }, rad.h("details", { ontoggle: (event) => {
        if (event.target.open && !rest.hasChildNodes()) { rad.add(rest, body()); }
      } }, rad.h("summary", { class: "soft" }, `Turn ${at + 1}, which does not match the filter`), rest));
    };

    const userBubble = (turn, head) => rad.h("div", { class: "bubble user" },
      rad.h("span", { class: "who" }, head, ", user"), rad.h("span", { class: "text", dir: "auto" }, turn.user));

    const response = (one, turn, at, id, cited, state) => {
      if (!turn.said) { return rad.h("p", { class: "soft" }, "No response."); }
      return [systemBubble(turn, id, parseInt(one.marks[at], 16) & FALLBACK), cards(turn, id, cited),
        verdictsOf(one, turn, at, state), labelsOf(one, at), callsOf(turn)];
    };

    const systemBubble = (turn, id, fallback) => rad.h("div", { class: "bubble system" },
      rad.h("span", { class: "who" }, `System, ${turn.words} word${turn.words === 1 ? "" : "s"}${turn.words > 60 ? " (over 60)" : ""}`, fallback ? [" ", rad.h("span", { class: "chip" }, "a fallback debater answered")] : null),
      rad.h("span", { class: "text", dir: "auto" }, turn.said.map(([text, how, argument], place) => [place ? " " : "",
        rad.h("span", { class: `sentence ${how === "none" ? "unsupported" : how === "near" ? "near" : "supported"}`,
          tabindex: argument === null ? null : "0", title: how === "none" ? "not in any cited argument" : how === "near" ? "most of its words are in the argument" : "quoted from the argument",
          dataset: argument === null ? {} : { marks: `${id}-a${argument}` } }, text, argument === null ? null : rad.h("sup", null, String(argument + 1)))]),
        turn.said.length ? null : "(empty)"));

    const cards = (turn, id, cited) => {
      if (!turn.cited.length) { return rad.h("p", { class: "soft" }, "No citations."); }
      const all = turn.cited.map(([number, quoted], place) => {
        const one = cited[number];
        return rad.h("article", { class: "card", "aria-label": `Citation ${place + 1}` },
          rad.h("p", null, rad.h("span", { class: "number", dataset: { marks: `${id}-a${place}` } }, String(place + 1)),
            rad.h("span", { class: "text", dir: "auto" }, one.text.map((text, at) => [at ? " " : "", quoted.includes(at) ? rad.h("mark", { dataset: { marks: `${id}-a${place}` } }, text) : text]))),
          rad.h("p", { class: "soft" }, rad.h("bdi", null, one.id), one.topic && [" · ", rad.h("bdi", null, one.topic)]),
          one.attacks && rad.h("p", { class: "soft" }, "attacks: ", rad.h("bdi", null, one.attacks)),
          one.path.length > 0 && rad.h("ol", { class: "path", "aria-label": "Search path" }, one.path.map((step) => rad.h("li", null, step))));
      });
      return [rad.h("div", { class: "cards" }, all.slice(0, 2)), all.length > 2 && rad.h("details", null,
        rad.h("summary", { class: "soft" }, `${all.length - 2} more, which annotators did not see`), rad.h("div", { class: "cards" }, all.slice(2)))];
    };

    const chip = (maxim, score, why, known) => {
      const yes = score === null ? null : score >= 0.5, differs = known !== "-" && score !== null && (known === "y") !== yes;
      return rad.h("details", { class: `chip ${differs ? "differs" : ""}` },
        rad.h("summary", null, `${maxims[maxim]} `, rad.ui.answer(yes), score === null ? null : rad.h("span", { class: "num" }, ` ${score.toFixed(2)}`), differs && " ≠ label"),
        rad.h("span", { class: "text why", dir: "auto" }, why || "no rationale"));
    };
    const row = (one, at, [run, scores, why]) => rad.h("div", { class: "verdicts" }, rad.h("b", null, names[run]),
      scores.map((score, maxim) => chip(maxim, score, why[maxim], label(one, at, maxim))));
    const verdictsOf = (one, turn, at, state, wanted) => {
      const all = (turn.judged || []).filter(([run]) => !wanted || wanted.includes(run));
      if (!all.length) { return null; }
      const chosenRun = state.run ? names.indexOf(state.run) : -1;
      const own = all.filter(([run]) => run === chosenRun);
      if (all.length <= FEW) { return all.map((each) => row(one, at, each)); }
      const rest = rad.h("div");
      return [own.map((each) => row(one, at, each)),
        rad.h("div", { class: "verdicts" }, rad.h("b", null, `${all.length} judges`), maxims.map((maxim, place) => {
          const yes = all.filter(([, scores]) => scores[place] !== null && scores[place] >= 0.5).length;
          const no = all.filter(([, scores]) => scores[place] !== null && scores[place] < 0.5).length;
          return rad.h("span", { class: "chip" }, `${maxim} `, rad.h("span", { class: "yes" }, `${yes} yes`), " ", rad.h("span", { class: "no" }, `${no} no`));
        })),
        rad.h("details", { ontoggle: (event) => { if (event.target.open && !rest.hasChildNodes()) { rad.add(rest, all.map((each) => row(one, at, each))); } } },
          rad.h("summary", { class: "soft" }, `The verdicts of ${all.length} judges`), rest)];
    };
    const labelsOf = (one, at) => {
      const known = maxims.map((_, maxim) => label(one, at, maxim));
      if (known.every((each) => each === "-")) { return null; }
      return rad.h("div", { class: "verdicts" }, rad.h("b", null, "label"), maxims.map((maxim, place) =>
        rad.h("span", { class: "chip" }, `${maxim} `, rad.ui.answer(known[place] === "-" ? null : known[place] === "y"))));
    };
    const callsOf = (turn) => (turn.calls || []).map(([run, calls]) => rad.h("details", { class: "calls" },
      rad.h("summary", { class: "soft" }, `${names[run]}: ${calls.length} model call${calls.length === 1 ? "" : "s"}`),
      calls.map((call) => rad.h("details", null,
        rad.h("summary", null, `${call.step} `, rad.h("span", { class: "soft" }, call.cached ? "from the cache" : `${call.seconds === null ? "–" : call.seconds.toFixed(2)} s${call.tokens ? `, ${call.tokens}` : ""}`), call.fault && rad.h("span", { class: "no" }, ` ${call.fault}`)),
        call.messages.map(([role, text]) => [rad.h("p", { class: "who" }, role), rad.h("pre", { dir: "auto" }, text)]),
        call.answer && [rad.h("p", { class: "who" }, "answer"), rad.h("pre", { dir: "auto" }, call.answer)]))));

    const renderClaim = async (claim, match, state) => {
      const picked = chosen(state), id = `c${claim.index + 1}`;
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
        title(`${claim.index + 1}. ${claim.text}`, id, `${alike ? "the same debate" : `${picked.length} runs`}, ${turns.length} of ${most} turns`),
        turns.map((at) => rad.h("section", { class: "turn", id: `${id}-t${at + 1}` },
          rad.h("h4", null, permalink(`${id}-t${at + 1}`, `Turn ${at + 1}`)),
          alike && [userBubble(known[0].loaded.turns[at], "The same turn"), shared(known[0], at, `${id}-t${at + 1}`)],
          rad.h("div", { class: "compare", tabindex: "0", role: "group", "aria-label": `Turn ${at + 1} of ${columns.length} runs` }, columns.map((column) => rad.h("section", { class: "column", "aria-label": names[column.run] },
            rad.h("h5", null, names[column.run]), cell(column, at, `${id}-t${at + 1}-r${column.run}`, alike, state)))))),
      ];
    };
    const shared = ({ one, loaded }, at, id) => {
      const turn = loaded.turns[at];
      return turn.said ? [systemBubble(turn, id, parseInt(one.marks[at], 16) & FALLBACK), cards(turn, id, loaded.arguments), labelsOf(one, at)] : rad.h("p", { class: "soft" }, "No response.");
    };
    const cell = ({ run, one, loaded }, at, id, alike, state) => {
      const turn = loaded && loaded.turns[at];
      if (!turn) { return rad.h("p", { class: "soft" }, "This run has no such turn."); }
      const own = turn.said && verdictsOf(one, turn, at, { ...state, run: "" }, [run]);
      if (alike) { return own || rad.h("p", { class: "soft" }, "No verdicts."); }
      return [userBubble(turn, `Turn ${at + 1}`), turn.said
        ? [systemBubble(turn, id, parseInt(one.marks[at], 16) & FALLBACK), cards(turn, id, loaded.arguments), one.judges.length > FEW ? null : verdictsOf(one, turn, at, state), labelsOf(one, at)]
        : rad.h("p", { class: "soft" }, "No response.")];
    };
    return browser;
  };
}
