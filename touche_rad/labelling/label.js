"use strict";
/* The labelling page. Answers are sent in the order of the keystrokes, one at a time; the server
   answers once an answer is on the disk. */
{
  const data = rad.island("data");
  const $ = (id) => document.getElementById(id);
  const QUESTIONS = data.questions.map(({ key, title, asks }) => [key, title, asks]);
  let queue = null,
    at = 0,
    shown = null,
    active = 0,
    settle = false,
    turnNumber = 0;

  /* Requests */
  let last = Promise.resolve(),
    pending = 0,
    failed = false;
  const request = async (path, body) => {
    const options =
      body === undefined
        ? {}
        : {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(body),
          };
    let reply;
    try {
      reply = await fetch(`./${path}`, options);
    } catch {
      throw new Error(
        "the server does not answer: is `touche-rad label` still running? " +
          "A restarted one has another address",
      );
    }
    const value = await reply.json().catch(() => ({}));
    if (!reply.ok) {
      throw new Error(
        typeof value.detail === "string" ? value.detail : `the server answers ${reply.status}`,
      );
    }
    return value;
  };
  const inOrder = (work) => {
    pending += 1;
    showSaved();
    const result = last.then(work);
    last = result
      .catch(() => {})
      .finally(() => {
        pending -= 1;
        showSaved();
      });
    return result.catch(fail);
  };
  const showSaved = () => {
    $("saved").textContent = failed ? "not saved" : pending ? "saving…" : "saved";
  };
  const fail = (error) => {
    failed = true;
    showSaved();
    rad.replace(
      $("alert"),
      rad.ui.notice(`${error.message}. The last answer is not saved.`, "error"),
    );
    if (shown) {
      load(shown.debate, shown.turn).catch(() => {});
    }
  };
  const works = () => {
    if (failed) {
      failed = false;
      $("alert").replaceChildren();
    }
  };

  /* Show a turn */
  const bubble = (who, kind, ...text) =>
    rad.h(
      "div",
      { class: `bubble ${kind}` },
      rad.h("span", { class: "who" }, who),
      rad.h("span", { class: "text", dir: "auto" }, text),
    );
  const showTurn = () => {
    const used = new Set(
      shown.arguments.flatMap((parts) => parts.flatMap(([, numbers]) => numbers)),
    );
    rad.replace(
      $("earlier"),
      shown.earlier.length > 0 &&
        rad.h(
          "div",
          { class: "earlier" },
          shown.earlier.map((turn, number) => [
            bubble(`Turn ${number + 1}, user`, "user", turn.user),
            turn.system !== null && bubble("System", "system", turn.system),
          ]),
        ),
    );
    rad.replace(
      $("current"),
      bubble(`Turn ${shown.turn + 1}, user`, "user", shown.user),
      bubble(
        `Response to label, ${shown.words} words`,
        "system judged",
        shown.sentences.map((text, number) => [
          number ? " " : "",
          used.has(number + 1)
            ? rad.h(
                "span",
                { class: "sentence", tabindex: "0", dataset: { marks: `s-${number + 1}` } },
                text,
              )
            : text,
        ]),
      ),
    );
    rad.replace(
      $("arguments"),
      shown.arguments.map((parts, number) =>
        rad.h(
          "article",
          { class: "card" },
          rad.h(
            "p",
            null,
            rad.h("span", { class: "number" }, String(number + 1)),
            rad.h("span", { class: "text", dir: "auto" }, rad.ui.marked(parts, "s")),
          ),
        ),
      ),
      shown.arguments.length === 0 && rad.h("p", { class: "soft" }, "The response cites nothing."),
      shown.unshown > 0 &&
        rad.h(
          "p",
          { class: "soft" },
          `${shown.unshown} more not shown: annotators see the first two.`,
        ),
    );
    showAnswers();
  };
  const choice = (maxim, label, text, kind) => {
    const given = settle
      ? shown.settled[maxim]
        ? shown.settled[maxim].label
        : undefined
      : shown.answers[maxim];
    return rad.h(
      "button",
      {
        type: "button",
        class: kind,
        "aria-pressed": String(given === label),
        "aria-label": kind === "is-unknown" ? "Don't know" : null,
        disabled: settle && !shown.differ.includes(maxim),
        dataset: { choice: `${maxim}-${kind}` },
        onclick: () =>
          answer(
            QUESTIONS.findIndex(([name]) => name === maxim),
            label,
          ),
      },
      text,
    );
  };
  const question = ([maxim, name, asks], number) => {
    const off = settle && !shown.differ.includes(maxim),
      settled = shown.settled[maxim];
    const others = settle ? shown.others.filter((one) => maxim in one.answers) : [];
    return rad.h(
      "div",
      {
        class: `question${number === active ? " active" : ""}${off ? " settle-off" : ""}`,
        role: "group",
        "aria-labelledby": `q-${maxim}`,
        "aria-describedby": `a-${maxim}`,
        "aria-current": number === active ? "true" : null,
        dataset: { maxim },
      },
      rad.h(
        "span",
        { class: "name", id: `q-${maxim}` },
        rad.h("kbd", { "aria-hidden": "true" }, String(number + 1)),
        name,
      ),
      rad.h(
        "span",
        { class: "choices" },
        choice(maxim, 1, "Yes", "is-yes"),
        choice(maxim, 0, "No", "is-no"),
        choice(maxim, null, "?", "is-unknown"),
      ),
      rad.h("p", { class: "asks", id: `a-${maxim}` }, asks),
      others.length > 0 &&
        rad.h(
          "div",
          { class: "others" },
          others.map((one) =>
            rad.h("span", null, rad.h("bdi", null, one.name), ": ", answerWord(one.answers[maxim])),
          ),
          settled && rad.h("b", null, "settled by ", rad.h("bdi", null, settled.by)),
        ),
    );
  };
  const showAnswers = () => {
    const focused = document.activeElement && document.activeElement.dataset.choice;
    rad.replace($("questions"), QUESTIONS.map(question));
    if (focused) {
      $("questions").querySelector(`[data-choice="${focused}"]`)?.focus();
    }
    showRevealed();
  };
  const answerWord = (label) =>
    label === null ? rad.h("span", { class: "unknown" }, "don't know") : rad.ui.answer(label === 1);
  const showRevealed = () => {
    const judges = shown.verdicts || [];
    rad.replace(
      $("revealed"),
      shown.complete &&
        !settle && [
          judges.map((one) => [
            rad.h("h3", null, "Judge ", rad.h("bdi", null, one.judge)),
            rad.ui.verdicts(one.verdicts.map((row) => ({ ...row, maxim: row.name }))),
          ]),
        ],
    );
  };
  const showState = (state) => {
    Object.assign(queue, state, { counts: queue.counts });
    const settled = queue.disagreements - queue.unsettled;
    const [done, total] = settle ? [settled, queue.disagreements] : [queue.done, queue.total];
    $("position").textContent = queue.places.length ? `${at + 1} of ${queue.places.length}` : "";
    $("rate").textContent = settle
      ? `${done} of ${total} disagreements settled`
      : `${done} labelled`;
    $("progress").max = Math.max(total, 1);
    $("progress").value = done;
    $("undo").disabled = !queue.can_undo;
    $("unsettled").textContent = queue.unsettled ? ` (${queue.unsettled})` : "";
    $("to-settle").hidden = queue.annotators.length < 2 && !settle;
    $("previous").disabled = at === 0;
  };

  /* Move */
  const load = async (debate, turn) => {
    const number = ++turnNumber;
    const found = await request(`turn?debate=${debate}&turn=${turn}&settle=${settle}`);
    if (number !== turnNumber) {
      return;
    }
    shown = found;
    firstOpen();
    showTurn();
  };
  const firstOpen = () => {
    const open = (maxim) =>
      settle
        ? shown.differ.includes(maxim) && !(maxim in shown.settled)
        : !(maxim in shown.answers);
    const found = QUESTIONS.findIndex(([maxim]) => open(maxim));
    active = found >= 0 ? found : Math.min(active, 3);
  };
  const move = (number) => {
    if (!queue.places.length) {
      return;
    }
    at = Math.max(0, Math.min(number, queue.places.length - 1));
    active = 0;
    const [debate, turn] = queue.places[at];
    rad.address.write({ view: settle ? "settle" : "", turn: at + 1 });
    showState({});
    inOrder(async () => {
      await load(debate, turn);
      scrollTo(0, 0);
      $("talk").scrollTop = $("talk").scrollHeight;
      if (innerWidth < 1024 && shown.earlier.length) {
        $("current").scrollIntoView({ block: "start", behavior: "instant" });
      }
    });
  };
  const isOpen = (number) =>
    settle ? queue.open[number] : queue.counts[number] < QUESTIONS.length;
  const nextOpen = () => {
    for (let step = 1; step <= queue.places.length; step += 1) {
      const number = (at + step) % queue.places.length;
      if (isOpen(number)) {
        move(number);
        return;
      }
    }
    announce();
  };
  const announce = () =>
    rad.replace(
      $("alert"),
      rad.ui.notice(
        settle
          ? "All disagreements are settled."
          : "All turns of the queue are labelled. Stop with Ctrl-C in the terminal; " +
              "it prints the next step.",
      ),
    );
  const start = async () => {
    settle = rad.address.read().view === "settle";
    $(settle ? "to-settle" : "to-label").setAttribute("aria-current", "page");
    $(settle ? "to-label" : "to-settle").removeAttribute("aria-current");
    queue = await request(`queue?settle=${settle}`);
    at = 0;
    shown = null;
    works();
    if (!queue.places.length) {
      for (const id of ["earlier", "current", "arguments", "questions", "revealed"]) {
        $(id).replaceChildren();
      }
      showState({});
      rad.replace(
        $("alert"),
        rad.ui.notice(
          settle ? "The annotators do not disagree on any turn." : "The queue is empty.",
          "",
        ),
      );
    } else {
      const wanted = Number(rad.address.read().turn);
      move(
        Number.isInteger(wanted) && wanted >= 1 && wanted <= queue.places.length
          ? wanted - 1
          : queue.first,
      );
      if (!settle && queue.done === queue.total) {
        announce();
      }
    }
  };

  /* Answer */
  const answer = (number, label) => {
    const turn = shown,
      maxim = QUESTIONS[number][0],
      place = at;
    if (!turn || (settle && !turn.differ.includes(maxim))) {
      return;
    }
    const before = active;
    if (settle) {
      turn.settled[maxim] = { label, by: data.annotator };
    } else {
      turn.answers[maxim] = label;
    }
    firstOpen();
    if (active === before && number === before && number < 3) {
      active = Math.min(number + 1, 3);
    }
    showAnswers();
    inOrder(async () => {
      const reply = await request("answer", {
        debate: turn.debate,
        turn: turn.turn,
        maxim,
        label,
        settle,
      });
      works();
      taken(turn, place, reply);
    });
  };
  const taken = (turn, place, { state, ...answers }) => {
    delete state.counts;
    // Newer answers are on their way.
    const later = pending > 1 ? { answers: turn.answers, settled: turn.settled } : {};
    Object.assign(turn, answers, later);
    queue.counts[place] = Object.keys(turn.answers).length;
    if (settle) {
      queue.open[place] = turn.differ.some((maxim) => !(maxim in turn.settled));
    }
    if (turn === shown) {
      showAnswers();
    }
    showState(state);
  };
  const undo = () =>
    inOrder(async () => {
      const { undone } = await request("undo", {});
      if (!undone) {
        return;
      }
      queue = await request(`queue?settle=${settle}`);
      const place = queue.places.findIndex(
        ([debate, turn]) => debate === undone.debate && turn === undone.turn,
      );
      if (place >= 0) {
        at = place;
        rad.address.write({ view: settle ? "settle" : "", turn: at + 1 });
      }
      await load(undone.debate, undone.turn);
      const number = QUESTIONS.findIndex(([maxim]) => maxim === undone.maxim);
      if (number >= 0) {
        active = number;
        showAnswers();
      }
      works();
      showState({});
    });

  /* Keys */
  const rubric = () => {
    const dialog = $("rubric");
    if (dialog.open) {
      dialog.close();
    } else {
      dialog.showModal();
    }
  };
  const step = (by) => {
    active = Math.max(0, Math.min(3, active + by));
    showAnswers();
  };
  const map = {};
  QUESTIONS.forEach(([, name], number) => {
    map[String(number + 1)] = [`${name}: yes`, () => answer(number, 1)];
    map[`Shift+${number + 1}`] = [`${name}: no`, () => answer(number, 0)];
  });
  Object.assign(map, {
    d: ["Don't know, on the framed question", () => answer(active, null)],
    u: ["Undo the last answer", undo],
    Enter: ["Next open turn", nextOpen],
    ArrowRight: ["Next turn", () => move(at + 1)],
    ArrowLeft: ["Previous turn", () => move(at - 1)],
    ArrowDown: ["Frame the next question", () => step(1)],
    ArrowUp: ["Frame the question above", () => step(-1)],
    "?": ["Show or hide this rubric", rubric],
  });
  rad.keys(map);
  rad.keys.help = rubric;
  rad.add(
    $("key-list"),
    Object.entries(map).map(([key, [what]]) => [
      rad.h("dt", null, rad.h("kbd", null, key)),
      rad.h("dd", null, what),
    ]),
  );
  $("undo").addEventListener("click", undo);
  $("next").addEventListener("click", nextOpen);
  $("previous").addEventListener("click", () => move(at - 1));
  addEventListener("hashchange", () => start().catch(fail));
  if (data.settle && !location.hash) {
    rad.address.write({ view: "settle" });
  }
  start().catch(fail);
  showSaved();
}
