"use strict";
/* The labelling page. Requests are sent in the order of the keystrokes, one at a time; the server
   answers once an answer is on the disk. A question is { key, title, asks, kind, answers }, and
   an answer { label, text, about }; yes and no are the case of two. */
{
  const { html } = rad;
  const show = (id, view) => rad.mount(view, $(id));
  const data = rad.island("data");
  const QUESTIONS = data.questions;
  const LAST = QUESTIONS.length - 1;
  let queue = null,
    at = 0,
    shown = null,
    active = 0,
    isSettling = false,
    problem = "";

  let last = Promise.resolve(),
    input = last,
    pending = 0;
  const request = async (path, body) => (await rad.request(`./${path}`, body)).json();
  const inOrder = (work) => {
    pending += 1;
    draw();
    last = last
      .then(work)
      .catch(fail)
      .finally(() => {
        pending -= 1;
        draw();
      });
    return last;
  };
  const fail = (error) => {
    problem = `${rad.failure(error)} The last answer is not saved.`;
    return shown && load(shown).catch(() => {});
  };
  /* Each key and click waits for the turn that those before it show. */
  const inTurn = (act) => () => {
    input = input.then(() => shown && act());
  };

  const Bubble = ({ who, kind, children }) =>
    html`<div class="bubble ${kind}">
      <div class="who">${who}</div>
      <span class="text">${children}</span>
    </div>`;
  const NOUNS = { response: "Response", user: "Message" };
  const Talk = () => {
    const used = new Set(
      shown.arguments.flatMap((parts) => parts.flatMap(([, numbers]) => numbers)),
    );
    return html`${
        shown.earlier.length > 0 &&
        html`<details class="earlier" open=${innerWidth >= 1024}>
          <summary>${rad.count(shown.earlier.length, "earlier turn")}</summary>
          ${shown.earlier.map(
            (turn, number) =>
              html`<${Bubble} who="Turn ${number + 1}, user" kind="user">${turn.user}<//>
                ${turn.system !== null && html`<${Bubble} who="System" kind="system">${turn.system}<//>`}`,
          )}
        </details>`
      }
      <div id="current">
        ${shown.motion && html`<p><b>${shown.motion}</b></p>`}
        ${shown.user !== null && html`<${Bubble} who="Turn ${shown.turn + 1}, user" kind="user">${shown.user}<//>`}
        ${
          shown.sentences.length > 0 &&
          html`<${Bubble}
            who="${NOUNS[data.unit]} to label, ${shown.words} words"
            kind="system judged"
          >
            ${shown.sentences.map((text, number) => [
              number ? " " : "",
              used.has(number + 1)
                ? html`<span class="sentence" tabindex="0" data-marks="s-${number + 1}"
                    >${text}</span
                  >`
                : text,
            ])}
          <//>`
        }
      </div>`;
  };
  const Cited = () =>
    html`${shown.arguments.map(
      (parts, number) =>
        html`<article class="citation">
          <b class="number">${number + 1}</b> <${rad.Marked} parts=${parts} scope="s" />
        </article>`,
    )}
    ${!shown.arguments.length && html`<p class="soft">The response cites nothing.</p>`}
    ${
      shown.unshown > 0 &&
      html`<p class="soft">${shown.unshown} more not shown: annotators see the first two.</p>`
    }`;
  const verdictOf = ({ kind, answers }, label) => {
    const text = answers.find((choice) => choice.label === label)?.text ?? "don't know";
    return kind === "yes-no"
      ? { name: text, yes: label === null ? null : label === 1 }
      : { name: "", answer: text };
  };
  const Question = ({ question, number }) => {
    const { key, title, asks, kind, answers } = question;
    const isOff = isSettling && !shown.differ.includes(key);
    const settled = shown.settled[key];
    const label = isSettling ? settled?.label : shown.answers[key];
    const others = isSettling ? shown.others.filter((other) => key in other.answers) : [];
    return html`<div
      class="question ${kind} ${number === active ? "active" : ""} ${isOff ? "settle-off" : ""}"
      role="group"
      aria-labelledby="q-${key}"
      aria-describedby="a-${key}"
      aria-current=${number === active ? "true" : null}
    >
      <span class="name" id="q-${key}"
        >${HAS_TWO && html`<kbd aria-hidden="true">${number + 1}</kbd>`}${title}</span
      >
      <span class="choices"
        >${[...answers, { label: null, text: "Don't know" }].map(
          ({ label: value, text, about }) =>
            html`<button
              class=${kind === "yes-no" && value !== null ? (value ? "is-yes" : "is-no") : ""}
              aria-pressed=${label === value}
              disabled=${isOff}
              onClick=${inTurn(() => answer(number, value))}
            >
              ${text}${about && html` <small>${about}</small>`}
            </button>`,
        )}</span
      >
      <p class="asks soft" id="a-${key}">${asks}</p>
      ${
        others.length > 0 &&
        html`<div class="others row">
          ${others.map(
            (other) =>
              html`<span
                ><bdi>${other.name}</bdi>${": "}
                <${rad.Verdict} ...${verdictOf(question, other.answers[key])}
              /></span>`,
          )}
          ${settled && html`<b>settled by <bdi>${settled.by}</bdi></b>`}
        </div>`
      }
    </div>`;
  };
  /* What judges say: only after the answers. */
  const Revealed = () => {
    const label = QUESTIONS.map((question) => verdictOf(question, shown.answers[question.key]));
    const rows = shown.verdicts.map(({ judge, verdicts }) => ({
      name: judge,
      verdicts: QUESTIONS.map(({ key, title }, place) => {
        const verdict = verdicts.find(({ name }) => name === title) ?? {};
        const isSame = `${rad.answerOf(verdict)}` === rad.answerOf(label[place]);
        return { ...verdict, differs: verdict.name && shown.answers[key] !== null && !isSame };
      }),
    }));
    return (
      rows.length > 0 &&
      html`<h2>Verdicts</h2>
        <p class="soft">Change an answer only to correct a slip.</p>
        <${rad.VerdictTable}
          key=${at}
          criteria=${QUESTIONS.map(({ title }) => title)}
          ...${{ label, rows }}
          start="0.0"
          differs="from your label"
        />`
    );
  };
  const message = ({ done, total, disagreements, unsettled }) => {
    if (!isSettling) {
      return (
        done === total &&
        "All turns are labelled. Stop with Ctrl-C in the terminal: it prints the next step."
      );
    }
    if (!disagreements) {
      return "The annotators do not disagree on any turn.";
    }
    return !unsettled && "All disagreements are settled.";
  };
  const draw = () => {
    const saved = pending ? "saving…" : "saved";
    $("saved").textContent = problem ? "not saved" : saved;
    $("saved").hidden = !(problem || queue?.can_undo);
    const text = problem || (queue && message(queue));
    show("alert", text && html`<${rad.Notice} kind=${problem && "error"}>${text}<//>`);
    $("exchange").hidden = !shown;
    if (shown) {
      show("talk", html`<${Talk} />`);
      show("arguments", html`<${Cited} />`);
      show(
        "questions",
        QUESTIONS.map(
          (question, number) => html`<${Question} question=${question} number=${number} />`,
        ),
      );
      show("revealed", shown.complete && !isSettling && html`<${Revealed} />`);
    }
    if (queue) {
      const { places, disagreements, unsettled } = queue;
      const settled = disagreements - unsettled;
      const [done, total] = isSettling ? [settled, disagreements] : [queue.done, queue.total];
      $("position").textContent = places.length ? `${at + 1} of ${places.length}` : "";
      $("rate").textContent = isSettling
        ? `${done} of ${total} disagreements settled`
        : `${done} finished`;
      Object.assign($("progress"), { max: Math.max(total, 1), value: done, hidden: !done });
      $("undo").disabled = !queue.can_undo;
      $("previous").disabled = at === 0;
      $("unsettled").textContent = unsettled && queue.done === queue.total ? ` (${unsettled})` : "";
      $("to-settle").hidden = queue.annotators.length < 2 && !isSettling;
      $("to-settle").ariaCurrent = isSettling ? "page" : null;
      $("to-label").ariaCurrent = isSettling ? null : "page";
    }
  };

  const load = async ({ debate, turn }) => {
    shown = await request(`turn?debate=${debate}&turn=${turn}&settle=${isSettling}`);
    frameOpen();
    draw();
  };
  const loadQueue = async (settle) => {
    queue = await request(`queue?settle=${settle}`);
    problem = "";
    if (settle !== isSettling) {
      isSettling = settle;
      shown = null;
    }
  };
  /* Frame the first question that is open. */
  const openQuestion = ({ differ, settled, answers }) =>
    QUESTIONS.findIndex(({ key }) =>
      isSettling ? differ.includes(key) && !(key in settled) : !(key in answers),
    );
  const frameOpen = () => {
    const open = openQuestion(shown);
    active = open >= 0 ? open : Math.min(active, LAST);
  };
  const open = async (number) => {
    at = number;
    rad.address.write({ view: isSettling ? "settle" : "", turn: at + 1 });
    active = 0;
    const [debate, turn] = queue.places[at];
    await load({ debate, turn });
    scrollTo(0, 0);
    const talk = $("talk");
    talk.scrollTop = talk.scrollHeight;
  };
  const move = (number) => queue.places[number] && inOrder(() => open(number));
  const nextOpen = () => {
    const later = queue.open.indexOf(true, at + 1);
    const next = later < 0 ? queue.open.indexOf(true) : later;
    return next < 0 ? scrollTo(0, 0) : move(next); // or to the message that all are labelled
  };
  const start = async () => {
    const { view, turn } = rad.address.read();
    await loadQueue(view === "settle");
    if (queue.places.length) {
      const wanted = turn - 1;
      await open(queue.places[wanted] ? wanted : queue.first);
    }
  };

  const answer = (number, label) => {
    const turn = shown,
      maxim = QUESTIONS[number].key,
      place = at;
    if (isSettling && !turn.differ.includes(maxim)) {
      return;
    }
    const before = active;
    if (isSettling) {
      turn.settled[maxim] = { label, by: data.annotator };
    } else {
      turn.answers[maxim] = label;
    }
    frameOpen();
    if (active === before && number === before) {
      active = number + 1;
    }
    frame(active);
    inOrder(async () => {
      const body = { debate: turn.debate, turn: turn.turn, maxim, label, settle: isSettling };
      const { state, ...answers } = await request("answer", body);
      problem = "";
      // Newer answers are on their way.
      const later = pending > 1 ? { answers: turn.answers, settled: turn.settled } : {};
      Object.assign(turn, answers, later);
      Object.assign(queue, state);
      queue.open[place] = openQuestion(turn) >= 0;
    });
  };
  /* Keys answer open turns only. */
  const type = (number, label) =>
    label !== undefined && openQuestion(shown) >= 0 && answer(number, label);
  const undo = () =>
    inOrder(async () => {
      const { undone } = await request("undo", {});
      if (undone) {
        await loadQueue(undone.settle === true);
        await open(
          queue.places.findIndex(
            ([debate, turn]) => debate === undone.debate && turn === undone.turn,
          ),
        );
        active = QUESTIONS.findIndex(({ key }) => key === undone.maxim);
      }
    });

  /* Keys: with two answers each, a digit is a question; otherwise an answer to the framed one. */
  const HAS_TWO = QUESTIONS.every(({ answers }) => answers.length === 2);
  const frame = (number) => {
    active = Math.max(0, Math.min(LAST, number));
    draw();
    rad.intoView(document.querySelector(".question.active"));
  };
  if (HAS_TWO) {
    QUESTIONS.slice(0, 9).forEach(({ title, answers }, number) => {
      answers.forEach(({ label, text }, second) => {
        const key = `${second ? "Shift+" : ""}${number + 1}`;
        rad.keys({ [key]: [`${title}: ${text}`, inTurn(() => type(number, label))] });
      });
    });
  } else {
    const most = Math.max(...QUESTIONS.map(({ answers }) => answers.length));
    for (let number = 1; number <= Math.min(most, 9); number += 1) {
      const choose = inTurn(() => type(active, QUESTIONS[active].answers[number - 1]?.label));
      rad.keys({ [number]: [`Answer ${number} of the framed question`, choose] });
    }
  }
  rad.keys({
    d: ["Don't know, on the framed question", inTurn(() => type(active, null))],
    u: ["Undo the last answer", inTurn(undo)],
    Enter: ["Next open turn", inTurn(nextOpen)],
    ArrowRight: ["Next turn", inTurn(() => move(at + 1))],
    ArrowLeft: ["Previous turn", inTurn(() => move(at - 1))],
    ArrowDown: ["Frame the next question", inTurn(() => frame(active + 1))],
    ArrowUp: ["Frame the question above", inTurn(() => frame(active - 1))],
  });
  const begin = () => {
    input = input.then(() => inOrder(start));
  };
  for (const [id, act] of Object.entries({ undo, next: nextOpen, previous: () => move(at - 1) })) {
    $(id).addEventListener("click", inTurn(act));
  }
  addEventListener("hashchange", begin);
  /* Enter opens the next turn: after the mouse or a key, no button has the focus. */
  const leave = () => document.querySelector(":is(button, a):focus")?.blur();
  document.addEventListener("mousedown", (event) => {
    if (event.target.closest("button, a")) {
      event.preventDefault();
      leave();
    }
  });
  document.addEventListener(
    "keydown",
    (event) => event.defaultPrevented && !event.target.dataset.at && leave(),
  );
  if (data.settle && !location.hash) {
    rad.address.write({ view: "settle" });
  }
  begin();
}
