"use strict";
/* The labelling page. Answers are sent in the order of the keystrokes, one at a time; the server
   answers once an answer is on the disk. A question is { key, title, asks, kind, answers }, and
   an answer { label, text, about }; yes and no are the case of two. */
{
  const { html } = rad;
  const $ = (id) => document.getElementById(id);
  const show = (id, view) => rad.mount(view, $(id));
  const data = rad.island("data");
  const QUESTIONS = data.questions;
  const LAST = QUESTIONS.length - 1;
  let queue = null,
    at = 0,
    shown = null,
    active = 0,
    isSettling = false,
    turnNumber = 0,
    alert = null; // {text, kind}

  let last = Promise.resolve(),
    pending = 0,
    hasFailed = false;
  const request = async (path, body) => (await rad.request(`./${path}`, body)).json();
  const inOrder = (work) => {
    pending += 1;
    draw();
    const result = last.then(work);
    last = result
      .catch(() => {})
      .finally(() => {
        pending -= 1;
        draw();
      });
    return result.catch(fail);
  };
  const fail = (error) => {
    hasFailed = true;
    say(`${rad.failure(error)} The last answer is not saved.`, "error");
    if (shown) {
      load(shown.debate, shown.turn).catch(() => {});
    }
  };
  const works = () => {
    if (hasFailed) {
      hasFailed = false;
      alert = null;
    }
  };
  const say = (text, kind) => {
    alert = { text, kind };
    draw();
  };

  const Bubble = ({ who, kind, children }) =>
    html`<div class="bubble ${kind}">
      <span class="who">${who}</span><span class="text" dir="auto">${children}</span>
    </div>`;
  const NOUNS = { response: "Response", user: "Message" };
  const Talk = () => {
    const used = new Set(
      shown.arguments.flatMap((parts) => parts.flatMap(([, numbers]) => numbers)),
    );
    return html`${
        shown.earlier.length > 0 &&
        html`<div class="earlier">
          ${shown.earlier.map(
            (turn, number) =>
              html`<${Bubble} who="Turn ${number + 1}, user" kind="user">${turn.user}<//>
                ${turn.system !== null && html`<${Bubble} who="System" kind="system">${turn.system}<//>`}`,
          )}
        </div>`
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
                ? html`<span class="sentence" tabindex="0" data-marks=${`s-${number + 1}`}
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
  const answerWord = ({ kind, answers }, label) => {
    const text = answers.find((choice) => choice.label === label)?.text ?? "don't know";
    return kind === "yes-no"
      ? html`<${rad.Verdict} name=${text} yes=${label === null ? null : label === 1} />`
      : text;
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
        >${[...answers, { label: null, text: "?" }].map(
          ({ label: value, text, about }) =>
            html`<button
              class=${kind === "yes-no" && value !== null ? (value ? "is-yes" : "is-no") : ""}
              aria-pressed=${label === value}
              aria-label=${value === null ? "Don't know" : null}
              disabled=${isOff}
              onClick=${() => answer(number, value)}
            >
              ${text}${about && html` <small>${about}</small>`}
            </button>`,
        )}</span
      >
      <p class="asks" id="a-${key}">${asks}</p>
      ${
        others.length > 0 &&
        html`<div class="others row">
          ${others.map(
            (other) =>
              html`<span
                ><bdi>${other.name}</bdi>: ${answerWord(question, other.answers[key])}</span
              >`,
          )}
          ${settled && html`<b>settled by <bdi>${settled.by}</bdi></b>`}
        </div>`
      }
    </div>`;
  };
  /* What judges say: only after the answers. */
  const Revealed = () =>
    (shown.verdicts || []).map(
      ({ judge, verdicts }) =>
        html`<h3>Judge <bdi>${judge}</bdi></h3>
          <${rad.Reasons} verdicts=${verdicts} />`,
    );
  const draw = () => {
    const saved = pending ? "saving…" : "saved";
    $("saved").textContent = hasFailed ? "not saved" : saved;
    show("alert", alert && html`<${rad.Notice} kind=${alert.kind}>${alert.text}<//>`);
    $("exchange").hidden = !shown;
    $("cited").hidden = data.unit !== "response";
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
        : `${done} labelled`;
      Object.assign($("progress"), { max: Math.max(total, 1), value: done, hidden: !done });
      $("undo").disabled = !queue.can_undo;
      $("previous").disabled = at === 0;
      $("unsettled").textContent = unsettled && queue.done === queue.total ? ` (${unsettled})` : "";
      $("to-settle").hidden = queue.annotators.length < 2 && !isSettling;
    }
  };

  const load = async (debate, turn) => {
    const number = ++turnNumber;
    const loaded = await request(`turn?debate=${debate}&turn=${turn}&settle=${isSettling}`);
    if (number === turnNumber) {
      shown = loaded;
      frameOpen();
      draw();
    }
  };
  /* Frame the first question that is open. */
  const openQuestion = () =>
    QUESTIONS.findIndex(({ key }) =>
      isSettling ? shown.differ.includes(key) && !(key in shown.settled) : !(key in shown.answers),
    );
  const frameOpen = () => {
    const open = openQuestion();
    active = open >= 0 ? open : Math.min(active, LAST);
  };
  const go = (number) => {
    at = number;
    rad.address.write({ view: isSettling ? "settle" : "", turn: at + 1 });
  };
  const move = (number) => {
    if (!queue.places.length) {
      return;
    }
    go(Math.max(0, Math.min(number, queue.places.length - 1)));
    active = 0;
    const [debate, turn] = queue.places[at];
    inOrder(async () => {
      await load(debate, turn);
      scrollTo(0, 0);
      const talk = $("talk");
      talk.scrollTop = talk.scrollHeight;
      if (innerWidth < 1024 && shown.earlier.length) {
        $("current").scrollIntoView({ block: "start", behavior: "instant" });
      }
    });
  };
  const isOpen = (number) =>
    isSettling ? queue.open[number] : queue.counts[number] < QUESTIONS.length;
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
    say(
      isSettling
        ? "All disagreements are settled."
        : "All turns are labelled. Stop with Ctrl-C in the terminal: it prints the next step.",
    );
  const start = async () => {
    isSettling = rad.address.read().view === "settle";
    $(isSettling ? "to-settle" : "to-label").setAttribute("aria-current", "page");
    $(isSettling ? "to-label" : "to-settle").removeAttribute("aria-current");
    queue = await request(`queue?settle=${isSettling}`);
    at = 0;
    shown = null;
    works();
    if (!queue.places.length) {
      say(isSettling ? "The annotators do not disagree on any turn." : "The queue is empty.");
      return;
    }
    const wanted = Number(rad.address.read().turn);
    const isThere = Number.isInteger(wanted) && wanted >= 1 && wanted <= queue.places.length;
    move(isThere ? wanted - 1 : queue.first);
    if (!isSettling && queue.done === queue.total) {
      announce();
    }
  };

  const answer = (number, label) => {
    const turn = shown,
      maxim = QUESTIONS[number]?.key,
      place = at;
    if (!maxim || (isSettling && !turn.differ.includes(maxim))) {
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
      works();
      // Newer answers are on their way.
      const later = pending > 1 ? { answers: turn.answers, settled: turn.settled } : {};
      Object.assign(turn, answers, later);
      Object.assign(queue, state, { counts: queue.counts });
      queue.counts[place] = Object.keys(turn.answers).length;
      if (isSettling) {
        queue.open[place] = turn.differ.some((key) => !(key in turn.settled));
      }
    });
  };
  /* Keys answer open turns only. */
  const type = (number, label) => shown && openQuestion() >= 0 && answer(number, label);
  const undo = () =>
    inOrder(async () => {
      const { undone } = await request("undo", {});
      if (!undone) {
        return;
      }
      queue = await request(`queue?settle=${isSettling}`);
      const place = queue.places.findIndex(
        ([debate, turn]) => debate === undone.debate && turn === undone.turn,
      );
      if (place >= 0) {
        go(place);
      }
      await load(undone.debate, undone.turn);
      active = Math.max(
        0,
        QUESTIONS.findIndex(({ key }) => key === undone.maxim),
      );
      works();
    });

  /* Keys: with two answers each, a digit is a question; otherwise an answer to the framed one. */
  const HAS_TWO = QUESTIONS.every(({ answers }) => answers.length === 2);
  const frame = (number) => {
    active = Math.max(0, Math.min(LAST, number));
    draw();
    document.querySelector(".question.active").scrollIntoView({ block: "nearest" });
  };
  if (HAS_TWO) {
    QUESTIONS.slice(0, 9).forEach(({ title, answers }, number) => {
      answers.forEach(({ label, text }, second) => {
        const key = `${second ? "Shift+" : ""}${number + 1}`;
        rad.keys({ [key]: [`${title}: ${text}`, () => type(number, label)] });
      });
    });
  } else {
    const most = Math.max(...QUESTIONS.map(({ answers }) => answers.length));
    for (let number = 1; number <= Math.min(most, 9); number += 1) {
      const choose = () => {
        const choice = QUESTIONS[active].answers[number - 1];
        if (choice) {
          type(active, choice.label);
        }
      };
      rad.keys({ [number]: [`Answer ${number} of the framed question`, choose] });
    }
  }
  rad.keys({
    d: ["Don't know, on the framed question", () => type(active, null)],
    u: ["Undo the last answer", undo],
    Enter: ["Next open turn", nextOpen],
    ArrowRight: ["Next turn", () => move(at + 1)],
    ArrowLeft: ["Previous turn", () => move(at - 1)],
    ArrowDown: ["Frame the next question", () => frame(active + 1)],
    ArrowUp: ["Frame the question above", () => frame(active - 1)],
  });
  $("undo").addEventListener("click", undo);
  $("next").addEventListener("click", nextOpen);
  $("previous").addEventListener("click", () => move(at - 1));
  addEventListener("hashchange", () => start().catch(fail));
  if (data.settle && !location.hash) {
    rad.address.write({ view: "settle" });
  }
  start().catch(fail);
}
