"use strict";
/* The debate page. `state` is the whole debate; the address contains it, the server keeps nothing.
   Each debate is one entry of the browser's history. Turns {parent, say, pick, answers} are a tree,
   so that a debate can go on from any of them. `draw` shows everything. */
{
  const { html, intoView } = rad;
  const setup = rad.island("setup");
  const STOPPED = "Stopped.";
  const offer = String([setup.debaters, setup.judges]);
  const empty = () => ({ turns: [], at: -1, written: "" });
  let state = empty(); // `at` is the last turn shown; `written` is the debate as the address has it
  let running = null,
    unsaid = "", // a message without an answer that is not in the field
    left = false,
    status = "", // below the field
    problem = null; // {text, again}, above the field
  // {parent, draft}: the next message begins a branch; an edit keeps what the field had.
  let fork = null;
  const path = (at) => {
    const indexes = [];
    for (let index = at; index >= 0; index = state.turns[index].parent) {
      indexes.unshift(index);
    }
    return indexes;
  };
  const children = (at) =>
    [...state.turns.keys()].filter((index) => state.turns[index].parent === at);
  const answerOf = ({ answers, pick }) => answers[pick]?.system && answers[pick];
  const toField = () => $("say").focus({ preventScroll: true });
  const last = (at) => {
    const next = children(at);
    return next.length ? last(next.at(-1)) : at;
  };

  /* The debate as an official simulation; turns without an answer only at the end. */
  const simulation = (at, say) => {
    const userTurns = path(at).map((index) => {
      const turn = state.turns[index];
      return { utterance: turn.say, systemResponse: answerOf(turn)?.system };
    });
    if (say !== undefined) {
      userTurns.push({ utterance: say });
    }
    return {
      id: "debate-page",
      simulation: { configuration: { topic: { description: userTurns[0].utterance } }, userTurns },
    };
  };

  const through = (content, stream) => {
    let room = 3e7; // bytes: a link may hold gigabytes
    const limit = new TransformStream({
      transform(chunk, to) {
        room -= chunk.length;
        room < 0 ? to.error() : to.enqueue(chunk);
      },
    });
    return new Response(new Blob([content]).stream().pipeThrough(stream).pipeThrough(limit));
  };
  const encode = async (value) => {
    const link = await through(JSON.stringify(value), new CompressionStream("deflate-raw")).bytes();
    return link.toBase64({ alphabet: "base64url", omitPadding: true });
  };
  const decode = async (text) => {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return check(await through(bytes, new DecompressionStream("deflate-raw")).json());
  };
  /* An address may come from anybody: what cannot be shown as text is refused. */
  const check = ({ turns, at }) => {
    const isNext = ({ parent, say: text }, index) =>
      Number.isInteger(parent) && parent >= -1 && parent < index && typeof text === "string";
    if (turns.length > setup.turns || !turns.every(isNext)) {
      throw new Error("it contains no debate");
    }
    const opened = { turns, at: Number.isInteger(at) && turns[at] ? at : -1 };
    const before = state;
    state = opened;
    try {
      const aside = document.createElement("div");
      const views = turns.map(({ answers }, index) => [
        html`<${Turn} index=${index} place=${1} />`,
        answers.map((answer) => answer.shown && html`<${Why} answer=${answer} />`),
      ]);
      rad.mount(views, aside);
      // What is saved: as text, and as JSON, which objects in the place of texts break.
      turns.forEach(rowsOf);
      JSON.stringify(turns);
    } finally {
      state = before;
    }
    return opened;
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
      return; // another debate is open
    }
    saved.written = debate;
    rad.address.write({ debate });
  };
  /* An entry of the history keeps the selected debaters and judges. */
  const choices = () => {
    const form = new FormData($("composer"));
    return { ...Object.fromEntries(form), offer, judges: form.getAll("judges") };
  };
  const remember = () => history.replaceState(choices(), "");
  /* The tab keeps the draft and the message without an answer. */
  const keep = (event) => {
    if (left) {
      return;
    }
    left = event.type === "beforeunload";
    try {
      sessionStorage.draft = JSON.stringify({
        debate: state.written,
        fork: running ? running.fork : fork,
        failed: unsaid || problem !== null,
        say: [unsaid, $("say").value].filter(Boolean).join("\n\n"),
      });
    } catch {
      /* the browser keeps nothing */
    }
  };
  const select = (debaters) => {
    const { first, second } = $("composer").elements;
    [first.value, second.value] = debaters;
  };
  const load = async () => {
    const isNew = !history.state;
    remember();
    const debate = address();
    if (rad.address.read().at) {
      rad.address.write({ debate: state.written });
      return; // a link inside the page
    }
    if (debate === state.written) {
      return;
    }
    stop();
    await running?.done;
    let opened = empty();
    problem = null;
    try {
      if (debate) {
        opened = await decode(debate);
      }
    } catch {
      problem = {
        text: "The debate in this address cannot be read. Copy the whole address, or start a new debate.",
      };
    }
    if (address() !== debate) {
      return; // as above
    }
    state = { ...opened, written: debate };
    state.at = last(state.at);
    // A link opens with the debaters of its last turn, first the one that continues.
    const turn = state.turns[state.at];
    const debaters = turn?.answers.map(({ debater }) => debater) ?? [];
    if (turn?.pick) {
      debaters.reverse();
    }
    if (isNew && debaters.length && debaters.every((name) => setup.debaters.includes(name))) {
      select([...debaters, ""]);
      remember();
    }
    write(fork?.draft ?? $("say").value);
    fork = null;
    unsaid = "";
    draw();
    toField();
  };

  const seconds = (value) => `${value.toFixed(1)} s`;
  const spent = (cost) => {
    const model = cost.calls ? "the model did not answer" : "no model";
    return `${seconds(cost.seconds)}, ${cost.tokens ? rad.count(cost.tokens, "token") : model}`;
  };
  const plain = (name) => name.split(".").pop().replaceAll("_", " ");
  const FIELDS = { all: "everything", text: "arguments", attacks: "attacked claims" };
  const step = (event) => {
    if (event.event === "search") {
      return `searched ${FIELDS[event.field] ?? event.field} for “${event.query}”${event.found ? "" : ": nothing found"}`;
    }
    const what = plain(event.step);
    if (!event.calls) {
      return `model: ${what}, from the cache`;
    }
    const tokens = event.prompt_tokens + event.completion_tokens;
    const failed = event.failures ? ", failed" : "";
    return `model: ${what}, ${seconds(event.seconds)}, ${tokens} tokens${failed}`;
  };
  const textOf = (citation) => citation.parts.map(([text]) => text).join("");

  const Topics = ({ names }) => {
    const begin = (claim) => {
      write(claim);
      say("Change it, or press Send.");
      $("say").focus();
    };
    return html`<ul class="topics">
      ${names.map(
        (name) =>
          html`<li key=${name}>
            <details
              name="topic"
              open=${names.length === 1}
              onToggle=${({ target }) => target.open && intoView(target)}
            >
              <summary>${name || "Claims of the collection"}</summary>
              ${setup.topics[name].map(
                (claim) => html`<button onClick=${() => begin(claim)}>${claim}</button>`,
              )}
              ${!setup.topics[name].length && html`<p class="soft">Write what you believe about it.</p>`}
            </details>
          </li>`,
      )}
    </ul>`;
  };
  const find = () => {
    const sought = $("find").value.toLowerCase().split(" ");
    const found = Object.keys(setup.topics).filter((name) =>
      sought.every((word) => name.toLowerCase().includes(word)),
    );
    rad.mount(html`<${Topics} names=${found.slice(0, 60)} />`, $("topics"));
  };
  const Problem = ({ text }) =>
    html`<${rad.Notice} kind=${text.startsWith(STOPPED) ? "" : "error"}>${text}<//>`;
  const Steps = ({ steps }) =>
    html`<ul class="list">
      ${steps.map((text) => html`<li>${text}</li>`)}
    </ul>`;
  const Why = ({ answer: { candidates, considered, ...answer } }) => {
    const cited = candidates.filter(({ note }) => note === "cited");
    const [best] = candidates.filter(({ note }) => !note || note === "cited");
    return html`<div class="reason why">
      ${answer.judged.map(
        (judged) =>
          html`<h3>Judge ${judged.judge} <small class="soft">${spent(judged)}</small></h3>
            <dl class="reasons">
              ${judged.list.map(
                (verdict) =>
                  html`<dt><${rad.Verdict} ...${verdict} /></dt>
                    <dd>
                      <div class="soft">${setup.asks[verdict.name]}</div>
                      <span class="text">${verdict.rationale || "no reason given"}</span>
                    </dd>`,
              )}
            </dl>
            ${judged.list[0]?.score != null && html`<p class="soft">A score of .50 or more means yes.</p>`}`,
      )}
      <h3>How it was found <small class="soft">${spent(answer)}</small></h3>
      <${Steps}
        steps=${[
          ...answer.steps,
          ...answer.shown.citations
            .filter((citation) => citation.path.length)
            .map(({ number, path }) => `source ${number}: ${path.join(" → ")}`),
        ]}
      />
      ${
        candidates.length > 0 &&
        html`<p class="soft">
            ${`${candidates.length} of ${rad.count(considered, "candidate")}, best first. The answer cites ${cited.map(({ rank }) => `number ${rank}`).join(" and ") || "none of them"}.`}
            ${cited.includes(best) && " The others score less or have a reason beside them."}
          </p>
          <ol class="list">
            ${candidates.map(
              ({ rank, text, score, note }) =>
                html`<li class="text" value=${rank}>
                  ${text}${" "}
                  <small>${`score ${rad.number(score)}`}${note && ` · ${note}`}</small>
                </li>`,
            )}
          </ol>`
      }
    </div>`;
  };

  const WordsOnly = () => !setup.model && html`<span class="soft">words only, not the side</span>`;
  const Reply = ({ turn, index, which }) => {
    const answer = turn.answers[which];
    const { shown, live } = answer;
    const scope = `t${index}-${which}`;
    const isCompared = turn.answers.length > 1;
    const isPicked = which === turn.pick;
    const list = (!isCompared && answer.judged[0]?.list) || [];
    const [isOpen, open] = rad.useState(false);
    rad.useEffect(() => isOpen && reveal(scope), [isOpen]);
    const same = children(turn.parent).findIndex(
      (other) =>
        other < index &&
        state.turns[other].answers.some(({ shown: old }) => old?.content === shown?.content),
    );
    const notices = [...answer.notices, ...answer.judged.flatMap((judged) => judged.notices)];
    return html`<article class="reply" id=${scope} aria-label="Answer of ${answer.debater}">
      <div>
        <div class="who row">
          ${answer.debater}
          ${
            isCompared &&
            answer.system &&
            html`<button class="plain" aria-pressed=${isPicked} onClick=${() => pick(index, which)}>
              ${isPicked ? "✓ Continues the debate" : "Continue with this"}<span
                class="visually-hidden"
              >
                of ${answer.debater}</span
              >
            </button>`
          }
        </div>
        ${notices.map((text) => html`<${rad.Notice} kind="warning">${text}<//>`)}
        ${shown && html`<${rad.Answer} answer=${shown} scope=${scope} />`}
        ${
          answer.near
            ? html`<${Near} names=${answer.near} />`
            : shown?.citations.length === 0 &&
              html`<p class="unsourced">This answer cites no argument.</p>`
        }
        ${
          live?.working &&
          html`${
              answer.steps.length > 0 &&
              html`<details>
                <summary>${rad.count(answer.steps.length, "step")}</summary>
                <${Steps} steps=${answer.steps} />
              </details>`
            }
            <p class="running">
              ${live.working} <span class="num">${seconds((Date.now() - live.begun) / 1000)}</span>
            </p>`
        }
        ${answer.problem && html`<${Problem} text=${answer.problem} />`}
        ${
          shown &&
          html`<div class="foot row">
            ${list.map(({ score, ...verdict }) => html`<${rad.Verdict} ...${verdict} />`)}
            ${list.length > 0 && html`<${WordsOnly} />`}
            <button class="plain" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
              Why?
            </button>
            <span class="soft num"
              >${shown.words}${setup.words > 0 && ` of ${setup.words}`}${" words"}${same >= 0 && ` · the same answer as in branch ${same + 1}`}</span
            >
          </div>`
        }
      </div>
      ${
        shown?.citations.length > 0 &&
        html`<aside class="sources" aria-label="Sources">
          ${shown.citations.map(
            (citation) =>
              html`<${rad.Citation}
                citation=${citation}
                scope=${scope}
                isQuoted=${shown.content.includes(textOf(citation))}
                isBrief
              />`,
          )}
        </aside>`
      }
      ${isOpen && html`<${Why} answer=${answer} />`}
    </article>`;
  };
  const Near = ({ names }) => {
    const known = names.filter((name) => Object.hasOwn(setup.topics, name));
    const offered = known.length ? known : Object.keys(setup.topics).slice(0, 6);
    return html`<p>${known.length ? "Near topics" : "Some topics of this collection"}:</p>
      <${Topics} names=${offered} />`;
  };

  /* A row for each judge and debater. */
  const Comparison = ({ turn }) => {
    const lists = turn.answers.flatMap(({ debater, judged }) =>
      judged.filter(({ list }) => list.length).map((judgement) => ({ debater, ...judgement })),
    );
    const judges = [...new Set(lists.map(({ judge }) => judge))];
    lists.sort((one, two) => judges.indexOf(one.judge) - judges.indexOf(two.judge));
    const rows = lists.map(({ debater, judge, list }) => ({
      name: debater,
      about: judges.length > 1 ? `judge ${judge}` : "",
      verdicts: list.map((verdict, column) => ({
        ...verdict,
        differs: lists.some(
          (other) =>
            other.judge === judge &&
            rad.answerOf(other.list[column] ?? {}) !== rad.answerOf(verdict),
        ),
      })),
    }));
    return (
      rows.length > 0 &&
      html`<${rad.VerdictTable}
          criteria=${lists[0].list.map(({ name }) => name)}
          rows=${rows}
          differs="between the answers"
        /><${WordsOnly} />`
    );
  };

  const Turn = ({ index, place }) => {
    const turn = state.turns[index];
    const siblings = children(turn.parent);
    const shown = siblings.indexOf(index);
    const isOff = fork && place > path(fork.parent).length;
    return html`<section
      class="turn ${isOff ? "off" : ""} ${turn.answers.length > 1 ? "two" : ""}"
      id="t${index}"
      tabindex="-1"
      data-scope
      aria-label="Turn ${place}"
    >
      <div class="said row end">
        <div class="row">
          ${
            siblings.length > 1 &&
            siblings.map(
              (sibling, at) =>
                Math.abs(at - shown) < 10 &&
                html`<button
                  class="plain"
                  aria-pressed=${sibling === index}
                  aria-label="Branch ${at + 1} of ${siblings.length}: ${rad.short(state.turns[sibling].say, 50)}"
                  onClick=${() => {
                    if (!running) {
                      goTo(last(sibling));
                      $(`t${sibling}`).focus();
                    }
                  }}
                >
                  ${at + 1}
                </button>`,
            )
          }
          ${
            answerOf(turn) &&
            html`<button class="plain" onClick=${() => edit(turn)}>Edit</button>
              <button
                class="plain"
                onClick=${() => {
                  cancel();
                  send(turn.say, turn.parent);
                }}
              >
                Again
              </button>`
          }
        </div>
        <div class="bubble user text" tabindex=${turn.say.length > 300 ? 0 : null}>${turn.say}</div>
      </div>
      <div class="replies">
        ${turn.answers.map(
          (_, which) => html`<${Reply} key=${which} turn=${turn} index=${index} which=${which} />`,
        )}
      </div>
      ${turn.answers.length > 1 && html`<${Comparison} turn=${turn} />`}
    </section>`;
  };

  const draw = () => {
    const hasTurns = state.turns.length > 0;
    const hidden = {
      start: hasTurns,
      share: !hasTurns,
      new: running,
      send: running,
      stop: !running,
      cancel: !fork,
      editing: !fork || status,
      limits: fork,
      address: true, // until it has the link
    };
    for (const [id, isHidden] of Object.entries(hidden)) {
      $(id).hidden = Boolean(isHidden);
    }
    $("say").placeholder = hasTurns ? "Reply …" : "I believe that …";
    $("where").textContent = status;
    rad.mount(
      path(state.at).map(
        (index, place) => html`<${Turn} key=${index} index=${index} place=${place + 1} />`,
      ),
      $("debate"),
    );
    rad.mount(
      problem &&
        html`<${Problem} text=${problem.text} />
          ${problem.again && html`<button onClick=${problem.again}>Try again</button>`}`,
      $("problem"),
    );
  };
  /* What stands above the field stays there. */
  const say = (text) => {
    const { offsetHeight } = $("composer");
    status = text;
    draw();
    scrollBy(0, $("composer").offsetHeight - offsetHeight);
  };
  setInterval(() => running && draw(), 250); // the seconds
  const reveal = (id) => {
    const part = $(id);
    part?.scrollIntoView({ block: part.offsetHeight > innerHeight - 200 ? "start" : "end" });
  };
  /* Say for which model calls an answer or a judge waits, and since when. */
  const work = (live, working) => {
    if (working !== live.working) {
      Object.assign(live, { working, begun: Date.now() });
    }
  };
  const waitFor = (live, sent = 1) => {
    const steps = [...new Set(live.waiting.map(plain))].join(", ");
    const again = sent > 1 ? `, request ${sent}` : "";
    work(live, steps ? `waiting for the model: ${steps}${again}` : live.working && live.doing);
  };
  const handlers = {
    asking({ live }, { sent, step: name }) {
      if (sent === 1) {
        live.waiting.push(name);
      }
      waitFor(live, sent);
    },
    model(answer, event) {
      const { waiting } = answer.live;
      const at = waiting.indexOf(event.step);
      if (at >= 0) {
        waiting.splice(at, 1);
      }
      waitFor(answer.live);
      handlers.search(answer, event);
    },
    search({ steps }, event) {
      if (steps.at(-1) !== step(event) && steps.length < 60) {
        steps.push(step(event));
      }
    },
    answer(answer, { event, ...values }) {
      Object.assign(answer, values);
      work(answer.live, "");
    },
    judging({ live }, { judge }) {
      live.doing = `judge ${judge}`;
      live.waiting = [];
      work(live, live.doing);
    },
    verdicts(answer, event) {
      answer.judged.push(event);
      work(answer.live, "");
    },
    error(answer, { message }) {
      answer.problem = `The server could not finish: ${message}`;
    },
    end({ live }) {
      live.ended = true;
    },
  };
  handlers.candidates = handlers.answer;
  const ask = async (answer, body, signal) => {
    try {
      const reply = await rad.request("/debate/answer", body, signal);
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
          handlers[event.event]?.(answer, event);
        }
        draw();
      }
      if (!answer.live.ended && !answer.problem) {
        throw new Error("The connection to the server broke off.");
      }
    } catch (error) {
      answer.problem = error.name === "AbortError" ? STOPPED : rad.failure(error);
    } finally {
      work(answer.live, "");
      draw();
    }
  };
  const send = async (text, parent = fork ? fork.parent : state.at) => {
    if (running || !text.trim()) {
      return;
    }
    const isTyped = text === $("say").value;
    const before = { at: state.at, fork };
    const { first, second, judges } = choices();
    const isSaid = children(parent).some((index) => state.turns[index].say === text);
    unsaid = !isTyped && isSaid ? "" : text;
    const body = simulation(parent, text);
    const turn = {
      parent,
      say: text,
      pick: 0,
      answers: [first, second].filter(Boolean).map((debater) => ({
        debater,
        problem: "",
        notices: [],
        steps: [],
        candidates: [],
        judged: [],
        live: { working: "working", doing: "working", waiting: [], begun: Date.now() },
      })),
    };
    const index = state.turns.push(turn) - 1;
    state.at = index;
    fork = null;
    problem = null;
    status = "";
    running = Object.assign(new AbortController(), before);
    if (isTyped) {
      write("");
    }
    draw();
    reveal(`t${index}`);
    running.done = Promise.all(
      turn.answers.map((answer) =>
        ask(answer, { debater: answer.debater, judges, debate: body }, running.signal),
      ),
    );
    await running.done;
    const answered = turn.answers.filter(({ system }) => system);
    if (answered.length) {
      unsaid = "";
      if (!answerOf(turn)) {
        turn.pick = turn.answers.indexOf(answered[0]);
      }
      if (!$("say").value.trim()) {
        write(before.fork?.draft ?? "");
      }
      turn.answers.forEach((answer) => delete answer.live);
    } else {
      // no answer: the message goes back, nothing of it is lost
      state.turns.pop();
      state.at = before.at;
      fork = before.fork;
      if (isTyped && !$("say").value.trim()) {
        write(text);
      }
      const isElsewhere = text !== $("say").value; // the field has something else
      if (!isElsewhere) {
        unsaid = "";
      }
      problem = {
        text:
          [...new Set(turn.answers.map((answer) => answer.problem))].join(" ") +
          (isElsewhere ? ` Not answered: ${text}` : ""),
        again: () => send(isElsewhere ? text : $("say").value, parent),
      };
    }
    await save(); // the address is complete when the next message can be sent
    running = null;
    draw();
    if (answered.length) {
      $("heard").textContent = answered.map(heard).join(" ");
    }
    reveal(`t${state.at}`);
    toField();
  };
  const inWords = (verdict) => `${verdict.name} ${rad.answerOf(verdict)}`;
  const heard = ({ debater, notices, system, judged }) =>
    [`${debater}:`, ...notices, system.utterance, judged[0]?.list.map(inWords)].join(" ");
  const stop = () => running?.abort();
  const goTo = (at) => {
    state.at = at;
    fork = null;
    draw();
    save();
    toField();
  };
  /* Select an answer; where the debate went on with another, the selection begins a branch. */
  const pick = (index, which) => {
    const turn = state.turns[index];
    if (running) {
      return;
    }
    const { debater } = turn.answers[which];
    if (setup.debaters.includes(debater)) {
      select([debater, ""]);
      remember();
      status = `${debater} answers the next message.`;
    }
    let { at } = state;
    if (turn.pick !== which) {
      at = children(index).length ? state.turns.push({ ...turn }) - 1 : index;
      state.turns[at].pick = which;
    }
    goTo(at);
    intoView($(`t${at}`));
  };
  const edit = ({ parent, say: text }) => {
    if (!running) {
      fork = { parent, draft: fork?.draft ?? $("say").value };
      write(text);
      say("");
      toField();
    }
  };
  const cancel = () => {
    if (fork) {
      write(fork.draft);
      goTo(state.at);
    }
  };

  const grow = () => {
    const field = $("say");
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
    if (field.value.length === field.maxLength) {
      say("A message has at most 20,000 characters. The rest of your text is cut off.");
    }
  };
  const write = (value) => {
    $("say").value = value;
    grow();
  };
  const submit = (event) => {
    event.preventDefault();
    if (running) {
      say("Wait for the answer, or stop it.");
    } else {
      send($("say").value);
    }
  };
  const press = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      submit(event);
    } else if (event.key === "Escape") {
      if (fork) {
        cancel();
      } else {
        $("say").blur();
      }
    }
  };
  const copy = async () => {
    await save();
    const field = $("address");
    field.value = (field.dataset.root || location.origin) + location.pathname + location.hash;
    field.hidden = false;
    field.select();
    /* A page that another machine serves has no navigator.clipboard. */
    const text = document.execCommand("copy") ? "Copied." : "Copy the marked link.";
    $("copied").textContent = text;
  };
  /* A turn, and the shown branch, for readers: [who, what]. */
  const rowsOf = (turn) => {
    const answer = answerOf(turn);
    const rows = [["You", turn.say]];
    if (answer) {
      const { content, citations } = answer.shown;
      rows.push([answer.debater, content]);
      for (const citation of citations) {
        const text = textOf(citation);
        const source = content.includes(text) ? `“${rad.short(text, 60)}”` : text;
        const against = citation.attacks && `, argues against “${rad.short(citation.attacks, 80)}”`;
        rows.push([`Source ${citation.number}`, `${source} (${citation.id})${against}`, "note"]);
      }
      for (const { judge, list } of answer.judged) {
        const verdicts = list.map((verdict) =>
          verdict.yes ? inWords(verdict) : `${inWords(verdict)}: ${verdict.rationale}`,
        );
        rows.push([`Judge ${judge}`, verdicts.join("; "), "note"]);
      }
    }
    return rows;
  };
  const transcript = () => path(state.at).flatMap((index) => rowsOf(state.turns[index]));
  const head = () => {
    const shown = path(state.at);
    const without = state.turns.length > shown.length ? ", without other branches" : "";
    return [
      `Debate: ${rad.short(state.turns[shown[0]].say, 50)}`,
      `${new Date().toLocaleDateString("en", { dateStyle: "long" })}${without}${setup.model ? "" : ". Judges compare words only, not the side."}`,
    ];
  };
  const contents = {
    jsonl: () => `${JSON.stringify(simulation(state.at))}\n`,
    // Further lines of a text are indented, so that none of them looks like another speaker.
    txt: () =>
      [...head(), ...transcript().map(([who, text]) => `${who}: ${text}`)]
        .map((text) => `${rad.visible(text).replaceAll("\n", "\n    ")}\n`)
        .join("\n"),
    html() {
      const page = $("exported");
      const [title, main] = page.content.querySelectorAll("title, main");
      const [name, date] = head();
      const asks = Object.entries(setup.asks).map(([what, text]) => [`${what} asks`, text, "note"]);
      const rows = [...transcript(), ...asks].map(
        ([who, text, kind]) =>
          html`<div class=${kind}>
            <dt>${who}</dt>
            <dd>${text}</dd>
          </div>`,
      );
      title.textContent = rad.visible(name);
      rad.mount(
        html`<h1>${name}</h1>
          <p>${date}</p>
          <dl>${rows}</dl>`,
        main,
      );
      return `<!doctype html>${page.innerHTML}`;
    },
  };
  const saveAs = (kind) => () => {
    if (!state.turns.length) {
      return;
    }
    const file = new Blob([contents[kind]()]);
    const download = `debate.${kind}`;
    const href = URL.createObjectURL(file);
    Object.assign(document.createElement("a"), { href, download }).click();
    say(`The debate is saved as ${download}.`);
  };
  const move = (by) => () => {
    const turns = [...document.querySelectorAll(".turn")];
    const at = turns.indexOf(document.activeElement.closest(".turn"));
    (turns[at + by] ?? turns.at(-1))?.focus();
  };
  rad.keys({
    "/": ["Write a message (Escape leaves the field)", () => $("say").focus()],
    ArrowRight: ["Next turn", move(1)],
    ArrowLeft: ["Previous turn", move(-1)],
    e: ["Save the debate as a simulation file", saveAs("jsonl")],
    l: ["Share the debate", () => $("share").click()],
    s: ["Stop the answer", stop],
    Escape: ["Cancel an edit or a branch", cancel],
  });
  $("composer").addEventListener("submit", submit);
  $("composer").addEventListener("change", remember);
  $("find").addEventListener("input", find);
  $("say").addEventListener("input", grow);
  $("say").addEventListener("keydown", press);
  const files = Object.keys(contents).map((kind) => [kind, saveAs(kind)]);
  for (const [id, action] of [["stop", stop], ["cancel", cancel], ["link", copy], ...files]) {
    $(id).addEventListener("click", action);
  }
  addEventListener("hashchange", load);
  for (const event of ["beforeunload", "pagehide", "visibilitychange"]) {
    addEventListener(event, keep);
  }
  addEventListener("pageshow", () => {
    left = false;
  });

  if (history.state?.offer === offer) {
    const { first, second, judges } = history.state;
    select([first, second]);
    for (const box of document.querySelectorAll("[name=judges]")) {
      box.checked = judges.includes(box.value);
    }
  }
  find();
  draw();
  let draft = {};
  try {
    draft = JSON.parse(sessionStorage.draft);
    write(draft.say);
  } catch {
    /* the tab is new */
  }
  load().then(() => {
    if (draft.debate === state.written && draft.fork) {
      fork = draft.fork;
    }
    if (draft.failed && draft.say) {
      problem = { text: `${STOPPED} The message in the field has no answer yet.` };
    }
    draw();
  });
  toField();
}
