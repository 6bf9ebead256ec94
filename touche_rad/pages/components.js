"use strict";
/* The components of pages that build their content in the browser. */
rad.ui = {
  answer(yes) {
    const word = yes === null || yes === undefined ? "unknown" : yes ? "yes" : "no";
    return rad.h("span", { class: word }, word);
  },
  notice(text, kind) {
    const head = { warning: "Warning:", error: "Error:" }[kind];
    return rad.h(
      "p",
      { class: `notice ${kind || ""}`, role: kind === "warning" ? null : "alert" },
      head && rad.h("b", null, head),
      rad.h("span", { dir: "auto", class: "text" }, text),
    );
  },
  /* Verdicts of one judge as a list: [{maxim, score, yes, rationale}] */
  verdicts(list) {
    return rad.h(
      "ul",
      { class: "verdict-list" },
      list.map((one) =>
        rad.h(
          "li",
          null,
          rad.h("b", null, one.maxim),
          rad.h(
            "span",
            { class: "num" },
            rad.ui.answer(one.score === null ? null : one.yes),
            one.score === null ? "" : ` ${one.score.toFixed(2)}`,
          ),
          rad.h("span", { class: "why text", dir: "auto" }, one.rationale || "no rationale"),
        ),
      ),
    );
  },
  /* An answer of pages.marks.marked_answer: its text with the sentences that citations support. */
  sentences(answer, scope) {
    return rad.h(
      "span",
      { class: "text", dir: "auto" },
      answer.sentences.map((one, at) => [
        at ? " " : "",
        rad.h(
          "span",
          {
            class: `sentence ${one.state}`,
            title: one.why || null,
            tabindex: one.state === "supported" ? "0" : null,
            dataset: one.state === "supported" ? { marks: `${scope}-${one.number}` } : {},
          },
          one.text,
          one.source && rad.h("sup", null, String(one.source)),
        ),
      ]),
    );
  },
  /* An argument's text with the words that support sentences: [[text, numbers of sentences]] */
  marked(parts, scope) {
    return parts.map(([text, numbers]) =>
      numbers.length
        ? rad.h(
            "mark",
            { dataset: { marks: numbers.map((number) => `${scope}-${number}`).join(" ") } },
            text,
          )
        : text,
    );
  },
  citation(one, scope) {
    return rad.h(
      "article",
      { class: "card", "aria-label": `Citation ${one.number}` },
      rad.h(
        "p",
        null,
        rad.h("span", { class: "number" }, String(one.number)),
        rad.h("span", { class: "text", dir: "auto" }, rad.ui.marked(one.parts, scope)),
      ),
      rad.h(
        "p",
        { class: "soft" },
        rad.h("bdi", null, one.id),
        one.topic && [" · ", rad.h("bdi", null, one.topic)],
        one.uses && ` · ${one.uses}`,
      ),
      one.attacks && rad.h("p", { class: "soft" }, "attacks: ", rad.h("bdi", null, one.attacks)),
      one.path.length > 0 &&
        rad.h(
          "ol",
          { class: "path", "aria-label": "How it was found" },
          one.path.map((step) => rad.h("li", null, step)),
        ),
    );
  },
};
