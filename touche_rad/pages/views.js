"use strict";
/* Views: rad.html`<p>${text}</p>` makes elements with Preact. Texts are only ever set as texts. */
{
  const { h, render } = preact;
  /* A long name breaks behind its underscores, an option such as --skip-bad nowhere. */
  const joint = (option) => (option ? h("span", { class: "option" }, option) : h("wbr"));
  const shown = (child) => {
    if (Array.isArray(child)) {
      return child.map(shown);
    }
    return typeof child === "string"
      ? rad
          .visible(child)
          .split(/(?<=_)|(?<=\s)(--[a-z-]{2,30})/)
          .map((part, at) => (at % 2 ? joint(part) : part))
      : child;
  };
  /* No text can become markup, a script, or a link that leaves the page. */
  const make = (tag, props, ...children) => {
    if (tag === "button") {
      props = { type: "button", ...props };
    }
    if (typeof tag === "string") {
      for (const [name, value] of Object.entries(props || {})) {
        const isText = typeof value === "string";
        const isLink = /^(href|src)$/.test(name);
        if ((isText ? /^on|^srcdoc$|^style$/i : /html$/i).test(name)) {
          throw new Error(`${name} is not allowed`);
        }
        if (isText && isLink && !/^(#|\/(?!\/)|\.\/|data:|blob:)/.test(value)) {
          throw new Error(`${value}: expected a link inside the page`);
        }
        if (isText && !isLink && name !== "value" && name !== "id") {
          props[name] = rad.visible(value);
        }
      }
    }
    return h(tag, props, ...children.map(shown));
  };
  const html = htm.bind(make);
  Object.assign(rad, preactHooks, { html, mount: (view, element) => render(view, element) });

  /* Numbers: two digits, no zero before the point, a true minus; "–" for none. */
  rad.number = (value, digits = 2) => {
    if (value == null) {
      return "–";
    }
    return (value + Math.sign(value) * 1e-9) // a 5 goes up
      .toFixed(digits)
      .replace(/^-(?=[.0]*$)/, "")
      .replace(/^(-?)0\./, "$1.")
      .replace("-", "−");
  };
  const isNear0 = (value) => Math.abs(value) >= 0.0005 && Math.abs(value) < 0.005;
  rad.signed = (value) => (value >= 0.0005 ? "+" : "") + rad.number(value, 2 + isNear0(value));
  rad.between = (low, high, digits = 2) => {
    const all = digits + (isNear0(low) || isNear0(high));
    return low == null ? "" : `[${rad.number(low, all)}, ${rad.number(high, all)}]`;
  };
  rad.count = (number, noun, nouns = `${noun}s`) =>
    `${number.toLocaleString("en")} ${number === 1 ? noun : nouns}`;

  rad.answerOf = ({ yes, answer }) => (yes == null ? (answer ?? "unknown") : yes ? "yes" : "no");
  rad.Verdict = ({ name, score, ...verdict }) => {
    const isOther = verdict.yes == null && verdict.answer != null;
    const answer = rad.answerOf(verdict);
    return html`<span class="verdict ${isOther ? "" : answer}"
      >${isOther ? `${name} ${answer}` : html`<span class="visually-hidden">${answer} </span>${name}`}${score != null && html`<span class="score"> ${verdict.yes === false && score >= 0.495 ? rad.number(Math.min(score, 0.499), 3) : rad.number(score)}</span>`}</span
    >`;
  };

  /* Arrows in a group with one tab stop: [data-at="row.column"]. */
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  rad.roving = (event) => {
    const step = STEPS[event.key];
    const place = step && event.target.dataset.at;
    if (!place) {
      return;
    }
    const [row, column] = place.split(".").map(Number);
    event.preventDefault();
    event.currentTarget.querySelector(`[data-at="${row + step[0]}.${column + step[1]}"]`)?.focus();
  };

  /* Verdicts as a table, the label first; a selected cell shows its reason, and more(row). rows:
     [{ name, about, verdicts: [{ name, yes, answer, score, rationale, differs }], end }]; start is
     "row.column", and differs says from what framed verdicts differ. Of many rows, votes are counted. */
  const MANY = 8;
  rad.VerdictTable = ({ criteria, label, rows, start = "", end, differs, more }) => {
    const [at, select] = rad.useState(start);
    const [chosen, column] = at.split(".");
    const verdict = rows[chosen]?.verdicts[column];
    const mark = (shown) => (shown ? html`<${rad.Verdict} ...${shown} name="" />` : "–");
    const cell = (shown, row, place) => {
      const here = `${row}.${place}`;
      return html`<td class=${shown.differs ? "differs" : ""}>
        <button
          class="cell"
          data-at=${here}
          tabindex=${here === (at || "0.0") ? 0 : -1}
          aria-pressed=${here === at}
          aria-label="${rows[row].name}, ${criteria[place]}: ${rad.answerOf(shown)}${shown.differs ? ", differs" : ""}"
          onClick=${() => select(here)}
        >
          ${mark(shown)}
        </button>
      </td>`;
    };
    const votes = (place, yes) => rows.filter(({ verdicts }) => verdicts[place].yes === yes).length;
    return html`${
        rows.length > MANY &&
        html`<p>
          ${criteria.map((name, place) => `${name}: ${votes(place, true)} yes, ${votes(place, false)} no`).join(" · ")}
        </p>`
      }
      <div class="scroll">
        <table
          class="verdict-table"
          style=${{ "--columns": criteria.length + !!end }}
          onKeyDown=${rad.roving}
        >
          <thead>
            <tr>
              <td></td>
              ${criteria.map((name) => html`<th scope="col">${name}</th>`)}${end && html`<th scope="col">${end}</th>`}
            </tr>
          </thead>
          <tbody>
            ${
              label &&
              html`<tr class="label">
                <th scope="row">label</th>
                ${label.map((shown) => html`<td>${mark(shown)}</td>`)}${end && html`<td></td>`}
              </tr>`
            }
            ${rows.map(
              ({ name, about, verdicts, end: last }, row) =>
                html`<tr>
                  <th scope="row">
                    ${name}${about && about !== name && html`<div class="score">${about}</div>`}
                  </th>
                  ${verdicts.map((shown, place) => cell(shown, row, place))}${end && html`<td class="soft">${last}</td>`}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${
        verdict &&
        html`<div class="reason" role="status">
          <p>
            <b>${rows[chosen].name}, </b><${rad.Verdict} ...${verdict} />${": "}
            <span class="text">${verdict.rationale || "no reason given"}</span>
          </p>
          ${more?.(rows[chosen])}
        </div>`
      }
      ${rows.some(({ verdicts }) => verdicts.some((shown) => shown.differs)) && html`<p class="soft">A framed verdict differs ${differs}.</p>`}`;
  };

  rad.Notice = ({ kind, children }) =>
    html`<p class="notice ${kind || ""}" role=${kind === "error" ? "alert" : null}>
      ${kind && html`<b>${kind === "error" ? "Error" : "Warning"}: </b>`}<span class="text"
        >${children}</span
      >
    </p>`;

  rad.intoView = (node) => node?.scrollIntoView({ block: "nearest" });
  const same = (text) => text;
  /* An answer of pages.marks.marked_answer. */
  rad.Answer = ({ answer, scope, find = same }) =>
    html`<p class="answer text">
      ${answer.sentences.map(
        (sentence, at) =>
          html`${at ? " " : ""}<span
              class="sentence ${sentence.state}"
              title=${sentence.why || null}
              data-marks=${sentence.source ? `${scope}-${sentence.number}` : null}
              >${find(sentence.text)}</span
            >${
              sentence.source &&
              html`<button
                class="ref"
                aria-label="Citation ${sentence.source}"
                data-marks="${scope}-${sentence.number}"
                onClick=${() => $(`${scope}-c${sentence.source}`)?.focus()}
              >
                ${sentence.source}
              </button>`
            }${sentence.state === "unsupported" && html`<small class="unsourced"> unsupported</small>`}`,
      )}
    </p>`;
  /* An argument's text: [[text, numbers of the sentences that it supports]]. */
  rad.Marked = ({ parts, scope, find = same }) =>
    html`<span class="text"
      >${parts.map(([text, numbers]) =>
        numbers.length
          ? html`<mark data-marks=${numbers.map((sentence) => `${scope}-${sentence}`).join(" ")}
              >${find(text)}</mark
            >`
          : find(text),
      )}</span
    >`;
  /* A cited argument; one that is quoted in full is not repeated. */
  rad.Citation = ({ citation, scope, find = same, isQuoted, isBrief }) => {
    const { number, id, parts, topic, attacks, path } = citation;
    const cut = isBrief && attacks.match(/^(.{40,70})\s(.{40,})/su);
    return html`<article
      class="citation"
      id="${scope}-c${number}"
      tabindex="-1"
      aria-label="Citation ${number}"
    >
      <p>
        <b class="number">${number}</b>${" "}${
          isQuoted
            ? "quoted in full"
            : html`<${rad.Marked} parts=${parts} scope=${scope} find=${find} />`
        }
      </p>
      ${
        cut
          ? html`<details class="soft">
              <summary>argues against “<bdi>${cut[1]}</bdi> …</summary>
              … <bdi>${cut[2]}</bdi>” · <bdi>${id}</bdi>
            </details>`
          : html`<p class="soft">
              ${attacks && html`argues against “<bdi>${attacks}</bdi>” · `}<bdi>${id}</bdi>
              ${!isBrief && topic && html` · <bdi>${topic}</bdi>`}
            </p>`
      }
      ${!isBrief && path.length > 0 && html`<p class="soft">found: ${path.map((step, at) => html`${at ? " → " : ""}<bdi>${step}</bdi>`)}</p>`}
    </article>`;
  };

  /* A menu; options: [[value, text]], or groups [[name, [[value, text]]]]. */
  const choice = ([value, text]) =>
    Array.isArray(text)
      ? html`<optgroup label=${value}>${text.map(choice)}</optgroup>`
      : html`<option value=${value}>${text}</option>`;
  rad.Pick = ({ label, name, options, pick }) =>
    html`<select
      name=${name}
      aria-label=${label}
      value=""
      onChange=${(event) => pick(event.currentTarget.value)}
    >
      ${options.map(choice)}
    </select>`;
  /* What is selected, each with a button that removes it: [[name, text]]. */
  rad.Chips = ({ chips, remove }) =>
    html`<span class="chips"
      >${chips.map(
        ([name, text]) =>
          html`<button aria-label="Remove ${text}" onClick=${() => remove(name)}>
            ${text} <span aria-hidden="true">×</span>
          </button>`,
      )}</span
    >`;
}
