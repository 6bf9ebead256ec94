"use strict";
/* The debate page. `state` is the whole debate; the address contains it, the server keeps nothing.
   Each debate is one entry of the browser's history: Back shows the last debate.
   A turn is {parent, say, pick, answers}: a tree, so that a debate can go on from any turn. */
{
  const { h } = rad;
  const $ = (id) => document.getElementById(id);
  const setup = rad.island("setup");
  const LONGEST = 1_000_000,
    STOPPED = "Stopped.";
  const offer = String([setup.debaters, setup.judges]);
  const empty = () => ({ turns: [], at: -1, written: "" });
  let state = empty(); // `at` is the last turn shown; `written` is the debate as the address has it
  let running = null,
    unsaid = "",
    left = false; // `unsaid` is a message without an answer that is not in the field
  // {parent, draft}: the next message begins a branch; an edit keeps what the field had.
  let fork = null;

  /* --- the tree ------------------------------------------------------------------------------ */
  const path = (at) => {
    const found = [];
    for (let one = at; one >= 0; one = state.turns[one].parent) {
      found.unshift(one);
    }
    return found;
  };
  const children = (at) =>
    state.turns.map((_, index) => index).filter((index) => state.turns[index].parent === at);
  const answerOf = (turn) => {
    const one = turn.answers[turn.pick];
    return one && one.system ? one : null;
  };
  const last = (at) => {
    let one = at;
    for (let next = children(one); next.length; next = children(one)) {
      one = next[next.length - 1];
    }
    return one;
  };

  /* The debate as an official simulation; turns without an answer only at the end. */
  const simulation = (at, say) => {
    const turns = path(at).map((index) => state.turns[index]);
    const userTurns = turns.map((turn) => ({
      utterance: turn.say,
      ...(answerOf(turn) ? { systemResponse: answerOf(turn).system } : {}),
    }));
    if (say !== undefined) {
      userTurns.push({ utterance: say });
    }
    return {
      id: "debate-page",
      simulation: { configuration: { topic: { description: userTurns[0].utterance } }, userTurns },
    };
  };

  /* --- the address --------------------------------------------------------------------------- */
  const through = async (bytes, stream) =>
    new Uint8Array(
      await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer(),
    );
  const encode = async (value) => {
    const bytes = await through(
      new TextEncoder().encode(JSON.stringify(value)),
      new CompressionStream("deflate-raw"),
    );
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) {
      text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    }
    return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };
  const decode = async (text) => {
    if (text.length > LONGEST) {
      throw new Error("it is too long");
    }
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) =>
      one.charCodeAt(0),
    );
    return check(
      JSON.parse(
        new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))),
      ),
    );
  };
  /* An address may come from anybody: its values are only ever shown as text. */
  const check = ({ turns, at }) => {
    const right =
      Array.isArray(turns) &&
      turns.length &&
      turns.every(
        (turn, index) =>
          Number.isInteger(turn.parent) &&
          turn.parent >= -1 &&
          turn.parent < index &&
          Array.isArray(turn.answers),
      );
    if (!right) {
      throw new Error("it contains no debate");
    }
    return { turns, at: turns[at] ? at : -1 };
  };
  const address = () => rad.address.read().debate ?? "";
  const save = async () => {
    const saved = state;
    let debate = "";
    try {
      if (saved.turns.length) {
        debate = await encode({ turns: saved.turns, at: saved.at });
      }
    } catch {
      return;
    }
    if (saved !== state || address() !== saved.written) {
      return;
    } // another debate was opened meanwhile
    saved.written = debate;
    rad.address.write({ debate });
  };
  /* An entry of the history keeps the selected debaters and judges, also after a reload. */
  const choices = () => ({
    offer,
    first: $("first").value,
    second: $("second").value,
    judges: [...document.querySelectorAll("#judges input:checked")].map((one) => one.value),
  });
  const remember = () => history.replaceState(choices(), "");
  /* The tab keeps the draft and the message without an answer when the page is reloaded. */
  const keep = (event) => {
    if (left) {
      return;
    }
    left = event.type === "beforeunload";
    try {
      sessionStorage.draft = JSON.stringify({
        debate: state.written,
        fork: running ? running.fork : fork,
        failed: unsaid || $("problem").textContent,
        say: [unsaid, $("say").value].filter(Boolean).join("\n\n"),
      });
    } catch {
      /* the browser keeps nothing */
    }
  };
  const load = async () => {
    remember();
    const debate = address();
    if (rad.address.read().at) {
      rad.address.write({ debate: state.written });
      return;
    } // a link inside the page
    if (debate === state.written) {
      return;
    }
    stop();
    await running?.done;
    let opened = empty(),
      why = "";
    try {
      if (debate) {
        opened = await decode(debate);
      }
    } catch {
      why =
        "The debate in this address cannot be read. Copy the whole address, or start a new debate.";
    }
    if (address() !== debate) {
      return;
    } // another debate was opened meanwhile
    state = { ...opened, written: debate };
    state.at = last(state.at);
    write(fork?.draft ?? $("say").value);
    fork = null;
    unsaid = "";
    problem(why);
    show();
    $("say").focus({ preventScroll: true });
  };

  /* --- what is shown ------------------------------------------------------------------------- */
  const seconds = (value) => `${value.toFixed(1)} s`;
  const spent = (one) =>
    [
      seconds(one.seconds),
      one.tokens
        ? `${one.tokens.toLocaleString("en")} tokens`
        : one.calls
          ? "the model did not answer"
          : "no model",
    ].join(", ");
  const plain = (name) => name.split(".").pop().replaceAll("_", " ");
  const step = (event) => {
    if (event.event === "search") {
      const query = event.query.length > 90 ? `${event.query.slice(0, 88)}…` : event.query;
      return `searched ${event.field} for “${query}”: ${event.found} found`;
    }
    if (event.event === "model") {
      const what = plain(event.step);
      if (!event.calls) {
        return `model: ${what}, from the cache`;
      }
      const tokens = event.prompt_tokens + event.completion_tokens;
      const failed = event.failures ? ", failed" : "";
      return `model: ${what}, ${seconds(event.seconds)}, ${tokens} tokens${failed}`;
    }
    return "";
  };
  const answerView = (turn, index, which) => {
    const one = turn.answers[which],
      scope = `t${index}-${which}`;
    const both = turn.answers.length > 1,
      view = h("article", {
        class: `answer${both && which === turn.pick ? " picked" : ""}`,
        "aria-label": `Answer of ${one.debater}`,
      });
    view.append(
      h(
        "div",
        { class: "head" },
        h("b", null, one.debater),
        one.shown &&
          h(
            "span",
            { class: "words num soft" },
            h("meter", {
              min: "0",
              max: "60",
              high: "60",
              value: String(one.shown.words),
              "aria-label": "Words",
            }),
            `${one.shown.words} of 60 words`,
          ),
        one.system && h("span", { class: "soft num" }, spent(one)),
        one.judged.length > 0 &&
          h(
            "span",
            { class: "row verdicts" },
            one.judged.length > 1 && h("span", { class: "soft" }, `Judge ${one.judged[0].judge}:`),
            one.judged[0].list.map((it) =>
              h(
                "span",
                { class: "chip" },
                `${it.maxim} `,
                rad.ui.answer(it.score === null ? null : it.yes),
              ),
            ),
          ),
        both &&
          one.system &&
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(which === turn.pick),
              onclick: () => pick(index, which),
            },
            which === turn.pick ? "✓ Selected" : "Select this answer",
            h("span", { class: "visually-hidden" }, ` of ${one.debater}`),
          ),
      ),
    );
    for (const notice of one.notices) {
      view.append(rad.ui.notice(notice, "warning"));
    }
    if (one.shown) {
      view.append(h("div", { class: "bubble system" }, rad.ui.sentences(one.shown, scope)));
      view.append(
        one.shown.citations.length
          ? h(
              "div",
              { class: "cards" },
              one.shown.citations.map((it) => rad.ui.citation(it, scope)),
            )
          : h("p", { class: "soft" }, "No citations."),
      );
    }
    if (one.working) {
      const shown = one.steps.slice(-6);
      view.append(
        h(
          "ul",
          { class: "steps" },
          shown.map((it) => h("li", null, h("span", null, it))),
          h(
            "li",
            { class: "running" },
            h(
              "span",
              null,
              one.working,
              " ",
              h("span", { class: "clock num", dataset: { begun: String(one.begun) } }),
            ),
          ),
        ),
      );
    }
    if (one.problem) {
      view.append(rad.ui.notice(one.problem, one.problem === STOPPED ? "" : "error"));
    }
    for (const it of one.judged) {
      view.append(
        h("h2", null, `Judge ${it.judge}`, " ", h("span", { class: "soft num" }, spent(it))),
      );
      for (const notice of it.notices) {
        view.append(rad.ui.notice(notice, "warning"));
      }
      if (it.list.length) {
        view.append(rad.ui.verdicts(it.list));
      }
    }
    if (one.shown && (one.steps.length || one.candidates.length)) {
      view.append(
        h(
          "details",
          null,
          h("summary", null, "How it was found"),
          one.steps.length > 0 &&
            h(
              "ul",
              { class: "steps" },
              one.steps.map((it) => h("li", null, h("span", null, it))),
            ),
          one.candidates.length > 0 && [
            h(
              "p",
              { class: "soft" },
              `It considered ${one.considered} arguments. The best, and those it cites:`,
            ),
            h(
              "ol",
              { class: "candidates" },
              one.candidates.map((it) =>
                h(
                  "li",
                  null,
                  h(
                    "span",
                    { class: it.chosen ? "yes" : "soft" },
                    it.chosen ? "cited" : "not cited",
                  ),
                  ` ${it.score.toFixed(2)} `,
                  h("span", { class: "text", dir: "auto" }, it.text),
                  it.routes.length > 0 &&
                    h("span", { class: "soft" }, ` (${it.routes.join(", ")})`),
                ),
              ),
            ),
          ],
        ),
      );
    }
    return view;
  };
  const turnView = (index, place) => {
    const turn = state.turns[index],
      siblings = children(turn.parent),
      here = siblings.indexOf(index);
    const branch = (to) => () => {
      if (!running) {
        goTo(last(siblings[to]));
        focusTurn(siblings[to]);
      }
    };
    return h(
      "section",
      {
        class: `turn${fork && place > path(fork.parent).length ? " off" : ""}`,
        id: `t${index}`,
        tabindex: "-1",
        dataset: { scope: `t${index}` },
        "aria-label": `Turn ${place}`,
      },
      h(
        "div",
        { class: "head" },
        h(
          "div",
          { class: "bubble user" },
          h("span", { class: "who" }, `You, turn ${place}`),
          h("span", { class: "text", dir: "auto" }, turn.say),
        ),
        siblings.length > 1 &&
          h(
            "span",
            { class: "row" },
            h(
              "button",
              {
                type: "button",
                class: "plain",
                disabled: here === 0,
                "aria-label": "Previous branch",
                onclick: branch(here - 1),
              },
              "◂",
            ),
            h("span", { class: "soft" }, `branch ${here + 1} of ${siblings.length}`),
            h(
              "button",
              {
                type: "button",
                class: "plain",
                disabled: here === siblings.length - 1,
                "aria-label": "Next branch",
                onclick: branch(here + 1),
              },
              "▸",
            ),
          ),
        answerOf(turn) &&
          h(
            "span",
            { class: "row" },
            index !== state.at &&
              h(
                "button",
                { type: "button", class: "plain", onclick: () => forkAt(index) },
                "Continue from here",
              ),
            h(
              "button",
              { type: "button", class: "plain", onclick: () => forkAt(turn.parent, turn.say) },
              "Edit",
            ),
            h(
              "button",
              {
                type: "button",
                class: "plain",
                onclick: () => {
                  cancel();
                  send(turn.say, turn.parent);
                },
              },
              "Answer again",
            ),
          ),
      ),
      h(
        "div",
        { class: `columns${turn.answers.length > 1 ? "" : " one"}` },
        turn.answers.map((_, which) => answerView(turn, index, which)),
      ),
    );
  };
  const show = () => {
    $("start").hidden = state.turns.length > 0;
    $("link").disabled = $("export").disabled = !state.turns.length;
    rad.replace(
      $("debate"),
      path(state.at).map((index, place) => turnView(index, place + 1)),
    );
    for (const one of document.querySelectorAll(".bubble.user .text, #problem .text")) {
      if (one.scrollHeight > one.clientHeight) {
        one.tabIndex = 0;
      }
    } // the keyboard scrolls it
    where();
  };
  const renew = (index, which) => {
    const old = $(`t${index}`)?.querySelector(".columns").children[which];
    const focused = old?.contains(document.activeElement);
    old?.replaceWith(answerView(state.turns[index], index, which));
    if (focused) {
      focusTurn(index);
    }
    tick();
  };
  const where = () => {
    const place = path(fork ? fork.parent : state.at).length,
      turn = state.turns[state.at];
    const said = turn
      ? turn.answers
          .filter((one) => one.shown)
          .map((one) => `${one.debater} (${one.shown.words} words)`)
      : [];
    const ends = turn && !fork ? children(turn.parent).map((one) => path(last(one)).length) : [];
    const hidden = ends
      .map((end, at) => {
        const turns = end > place + 1 ? `Turns ${place + 1} to ${end} are` : `Turn ${end} is`;
        return end > place && `${turns} in branch ${at + 1}. `;
      })
      .filter(Boolean)
      .join("");
    const answered = said.length ? `${said.join(" and ")} answered. ` : "";
    $("cancel").hidden = !fork;
    $("where").textContent =
      running || !turn || (!fork && $("problem").textContent)
        ? hidden
        : !fork
          ? `${answered}${hidden}Your next message is turn ${place + 1}.`
          : fork.draft === null
            ? `Your next message continues from turn ${place}, in a new branch.`
            : `You edit turn ${place + 1}. Your message begins a new branch; the old one stays.`;
  };
  const problem = (what, again, stopped) =>
    rad.replace(
      $("problem"),
      what && rad.ui.notice(what, stopped ? "" : "error"),
      again && h("button", { type: "button", onclick: again }, "Try again"),
    );
  const tick = () => {
    for (const clock of document.querySelectorAll(".clock")) {
      clock.textContent = seconds((Date.now() - Number(clock.dataset.begun)) / 1000);
    }
  };
  setInterval(tick, 250);
  const focusTurn = (index) => {
    const one = $(`t${index}`);
    if (one) {
      one.focus({ preventScroll: true });
      one.scrollIntoView({ block: "start" });
    }
  };

  /* --- answers ------------------------------------------------------------------------------- */
  /* Say for which model calls an answer or a judge waits, and since when. */
  const waitFor = (one, sent) => {
    const steps = [...new Set(one.waiting.map(plain))].join(", "),
      before = one.working;
    one.working = steps
      ? `waiting for the model: ${steps}${sent > 1 ? `, request ${sent}` : ""}`
      : one.working && one.doing;
    if (one.working !== before) {
      one.begun = Date.now();
    }
  };
  const handle = (one, event) => {
    if (event.event === "asking") {
      if (event.sent === 1) {
        one.waiting.push(event.step);
      }
      waitFor(one, event.sent);
    }
    if (event.event === "model") {
      const at = one.waiting.indexOf(event.step);
      if (at >= 0) {
        one.waiting.splice(at, 1);
      }
      waitFor(one, 1);
    }
    if (event.event === "search" || event.event === "model") {
      if (one.steps.at(-1) !== step(event) && one.steps.length < 60) {
        one.steps.push(step(event));
      }
    } else if (event.event === "answer") {
      Object.assign(one, {
        system: event.system,
        shown: event.shown,
        by: event.by,
        notices: event.notices,
        seconds: event.seconds,
        calls: event.calls,
        tokens: event.tokens,
        working: "",
      });
    } else if (event.event === "candidates") {
      one.considered = event.considered;
      one.candidates = event.list.map((it) => ({ ...it, routes: Object.keys(it.routes) }));
    } else if (event.event === "judging") {
      one.doing = one.working = `judge ${event.judge}`;
      one.waiting = [];
      one.begun = Date.now();
    } else if (event.event === "verdicts") {
      one.judged.push(event);
      one.working = "";
    } else if (event.event === "error") {
      one.problem = `The server could not finish: ${event.message}`;
    } else if (event.event === "end") {
      one.ended = true;
    }
  };
  const ask = async (turn, index, which, body, signal) => {
    const one = turn.answers[which];
    try {
      const reply = await fetch("/debate/answer", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal,
      });
      if (!reply.ok) {
        const said = await reply.json().catch(() => ({}));
        const detail = typeof said.detail === "string" ? `: ${said.detail}` : "";
        throw new Error(`the server refused the message (status ${reply.status})${detail}`);
      }
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          break;
        }
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          const event = JSON.parse(line);
          handle(one, event);
          if (event.event !== "alive") {
            renew(index, which);
          }
        }
      }
      if (!one.ended && !one.problem) {
        throw new Error("the connection to the server broke off");
      }
    } catch (error) {
      one.problem =
        error.name === "AbortError"
          ? STOPPED
          : error instanceof TypeError
            ? "The server cannot be reached. Is touche-rad serve still running?"
            : `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
    } finally {
      one.working = "";
      renew(index, which);
    }
  };
  const send = async (say, parent = fork ? fork.parent : state.at) => {
    if (running || !say.trim()) {
      return;
    }
    const typed = say === $("say").value;
    const { first, second, judges } = choices(),
      debaters = [first, second].filter(Boolean);
    const before = { at: state.at, fork };
    unsaid = !typed && children(parent).some((one) => state.turns[one].say === say) ? "" : say;
    const body = simulation(parent, say);
    const turn = {
      parent,
      say,
      pick: 0,
      answers: debaters.map((debater) => ({
        debater,
        by: "",
        problem: "",
        notices: [],
        steps: [],
        system: null,
        shown: null,
        seconds: 0,
        calls: 0,
        tokens: 0,
        considered: 0,
        candidates: [],
        judged: [],
        working: "working",
        doing: "working",
        waiting: [],
        begun: Date.now(),
      })),
    };
    const index = state.turns.push(turn) - 1;
    state.at = index;
    fork = null;
    running = Object.assign(new AbortController(), before);
    problem("");
    if (typed) {
      write("");
    }
    busy(true);
    show();
    $(`t${index}`).scrollIntoView({ block: "start" });
    running.done = Promise.all(
      debaters.map((debater, which) =>
        ask(turn, index, which, { debater, judges, debate: body }, running.signal),
      ),
    );
    await running.done;
    if (turn.answers.some((one) => one.system)) {
      unsaid = "";
      $("heard").textContent = turn.answers
        .filter((one) => one.system)
        .map((one) =>
          [
            `${one.debater}:`,
            ...one.notices,
            one.system.utterance,
            ...(one.judged[0]?.list || []).map((it) => `${it.maxim} ${it.yes ? "yes" : "no"}.`),
          ].join(" "),
        )
        .join(" ");
      if (!answerOf(turn)) {
        turn.pick = turn.answers.findIndex((one) => one.system);
      }
      if (!$("say").value.trim()) {
        write(before.fork?.draft ?? "");
      }
      for (const one of turn.answers) {
        delete one.working;
        delete one.doing;
        delete one.waiting;
        delete one.begun;
        delete one.ended;
      }
    } else {
      // no answer: the message goes back, nothing of it is lost
      state.turns.pop();
      state.at = before.at;
      fork = before.fork;
      if (typed && !$("say").value.trim()) {
        write(say);
      }
      const elsewhere = say !== $("say").value; // the field has something else
      if (!elsewhere) {
        unsaid = "";
      }
      problem(
        [...new Set(turn.answers.map((one) => one.problem))].join(" ") +
          (elsewhere ? ` Not answered: ${say}` : ""),
        () => send(elsewhere ? say : $("say").value, parent),
        turn.answers[0].problem === STOPPED,
      );
    }
    await save(); // the address is complete when the next message can be sent
    running = null;
    busy(false);
    show();
    $(`t${state.at}`)?.scrollIntoView({ block: "start" });
    $("say").focus({ preventScroll: true });
  };
  const stop = () => running?.abort();
  const busy = (now) => {
    $("send").hidden = now;
    $("stop").hidden = !now;
    $("new").hidden = now;
  };
  const goTo = (at) => {
    state.at = at;
    fork = null;
    show();
    save();
    $("say").focus({ preventScroll: true });
  };
  /* Select an answer; where the debate went on with another, the selection begins a branch. */
  const pick = (index, which) => {
    const turn = state.turns[index];
    if (running || turn.pick === which) {
      return;
    }
    if (children(index).length) {
      goTo(state.turns.push({ ...turn, pick: which }) - 1);
    } else {
      turn.pick = which;
      goTo(index);
    }
  };
  const forkAt = (parent, say) => {
    if (running) {
      return;
    }
    fork = { parent, draft: say === undefined ? null : (fork?.draft ?? $("say").value) };
    if (say !== undefined) {
      write(say);
    }
    show();
    $("say").focus({ preventScroll: true });
  };
  const cancel = () => {
    if (fork) {
      write(fork.draft ?? $("say").value);
      goTo(state.at);
    }
  };
  const write = (value) => {
    $("say").value = value;
  };

  /* --- export, keys, start ------------------------------------------------------------------- */
  const download = () => {
    if (!state.turns.length) {
      return;
    }
    const file = new Blob([`${JSON.stringify(simulation(state.at))}\n`], {
      type: "application/jsonl",
    });
    h("a", { href: URL.createObjectURL(file), download: "debate.jsonl" }).click();
    $("where").textContent = "The debate is saved as debate.jsonl.";
  };
  const copy = async () => {
    await save();
    try {
      await navigator.clipboard.writeText(location.href);
      $("where").textContent = "The address is copied.";
    } catch {
      $("where").textContent = "Copy the address of this page: it contains the debate.";
    }
  };
  rad.keys({
    "/": ["Write a message (Escape leaves the field)", () => $("say").focus()],
    e: ["Export the debate as a simulation file", download],
    l: ["Copy the address of the debate", copy],
    s: ["Stop the answer", stop],
    Escape: ["Cancel an edit or a branch", cancel],
  });
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send($("say").value);
  });
  $("say").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (running) {
        $("where").textContent = "Wait for the answer, or stop it.";
      } else {
        send($("say").value);
      }
    }
    if (event.key === "Escape") {
      if (fork) {
        cancel();
      } else {
        $("say").blur();
      }
    }
  });
  $("say").addEventListener(
    "beforeinput",
    ({ data, target: { value, selectionStart, selectionEnd, maxLength } }) => {
      if (data && value.length - (selectionEnd - selectionStart) + data.length > maxLength) {
        $("where").textContent =
          "A message has at most 20,000 characters. The rest of your text is cut off.";
      }
    },
  );
  $("composer").addEventListener("change", remember);
  for (const [id, action] of Object.entries({ stop, export: download, link: copy, cancel })) {
    $(id).addEventListener("click", action);
  }
  for (const [event, action] of Object.entries({
    hashchange: load,
    beforeunload: keep,
    pagehide: keep,
    visibilitychange: keep,
    pageshow: () => {
      left = false;
    },
  })) {
    addEventListener(event, action);
  }

  const chosen =
    history.state?.offer === offer ? history.state : { judges: setup.judges.slice(0, 1) };
  for (const [id, names] of Object.entries({
    first: setup.debaters,
    second: ["", ...setup.debaters],
  })) {
    rad.add(
      $(id),
      names.map((name) =>
        h("option", { value: name, selected: name === chosen[id] }, name || "nobody"),
      ),
    );
  }
  rad.replace(
    $("examples"),
    setup.examples.map((say) =>
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            write(say);
            $("say").focus();
          },
        },
        say,
      ),
    ),
  );
  $("collection").textContent = setup.collection;
  rad.add(
    $("notices"),
    setup.notices.map((one) => rad.ui.notice(one, "warning")),
  );
  rad.add($("judges"), [
    h("span", { class: "soft" }, "Judges"),
    h(
      "span",
      { class: "row" },
      setup.judges.map((name) =>
        h(
          "label",
          { class: "check" },
          h("input", { type: "checkbox", value: name, checked: chosen.judges.includes(name) }),
          name,
        ),
      ),
    ),
  ]);
  $("judges").hidden = setup.judges.length < 2;
  let draft = {};
  try {
    draft = JSON.parse(sessionStorage.draft);
    write(draft.say);
  } catch {
    /* the tab is new */
  }
  show();
  load().then(() => {
    if (draft.debate === state.written && draft.fork) {
      fork = draft.fork;
      show();
    }
    if (draft.failed && draft.say) {
      problem(`${STOPPED} The message in the field has no answer yet.`, undefined, true);
      where();
    }
  });
  $("say").focus({ preventScroll: true });
}
