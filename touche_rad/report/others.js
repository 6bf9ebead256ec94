"use strict";
/* Whole debates and queries: the same browser with their own filters. */
{
  const lines = (title, about) => [rad.h("span", { class: "claim", dir: "auto" }, title), rad.h("span", { class: "soft" }, about)];
  const any = (values) => [["", "any"], ...values.map((one) => Array.isArray(one) ? one : [one, one])];

  rad.report.contests = (section, data) => {
    const items = data.contests.map((one, index) => ({ ...one, index }));
    const runs = [...new Set(items.flatMap((one) => one.verdicts.map(([run]) => run)))];
    const speakers = [...new Set(items.flatMap((one) => one.sides))];
    const texts = new Map();
    const load = async (one) => (await rad.report.part(`w${one.part}`))[one.place];
    const text = async (one) => {
      if (!texts.has(one.index)) { texts.set(one.index, new DOMParser().parseFromString(await load(one), "text/html").body.textContent.toLowerCase()); }
      return texts.get(one.index);
    };
    return new rad.report.Browser({
      section, prefix: "w", noun: "debate",
      items: () => items, byIndex: (index) => items[index],
      fields: [
        runs.length > 1 && { name: "run", label: "Run", options: any(runs) },
        speakers.length <= 60 && { name: "speaker", label: "Speaker", options: any(speakers) },
        runs.length && { name: "winner", label: "Winner", options: any(["pro", "con", "tie", ["none", "no winner"]]) },
        runs.length > 1 && { name: "disagree", label: "panels disagree" },
        runs.length && { name: "swapped", label: "winner changes with the sides" },
        runs.length && { name: "wrong", label: "differs from the human decision" },
        { name: "fallback", label: "fallback answered" },
      ].filter(Boolean),
      matches: (one, state) => {
        if (state.fallback && !one.fallback) { return null; }
        if (state.speaker && !one.sides.includes(state.speaker)) { return null; }
        if (state.disagree && new Set(one.verdicts.map(([, winner]) => winner)).size < 2) { return null; }
        const wanted = state.run || state.winner || state.swapped || state.wrong;
        const right = one.verdicts.some(([run, , side, flipped, wrong]) => (!state.run || run === state.run)
          && (!state.winner || side === state.winner) && (!state.swapped || flipped) && (!state.wrong || wrong));
        return !wanted || right ? {} : null;
      },
      textMatch: async (one, match, words) => one.motion.toLowerCase().includes(words) || (await text(one)).includes(words) ? match : null,
      row: (one) => lines(`${one.index + 1}. ${one.motion}`, [one.sides.join(" against "), one.verdicts.length === 1 && `winner ${one.verdicts[0][1] || "none"}`].filter(Boolean).join(", ")),
      render: async (one) => {
        const id = `w${one.index + 1}`;
        const parsed = new DOMParser().parseFromString(await load(one), "text/html");
        const body = [...parsed.body.childNodes].map((node) => document.importNode(node, true));
        setTimeout(() => document.dispatchEvent(new Event("rad-drawn")), 0);
        return [rad.h("header", { id }, rad.h("h3", { dir: "auto" }, rad.h("a", { href: `#${id}` }, `${one.index + 1}. ${one.motion}`))), body];
      },
    });
  };

  rad.report.queries = (section, data) => {
    const items = data.queries.map(([id, relevant, runs], index) => ({ index, id, relevant, runs }));
    const chosen = (state) => state.run ? [data.runs.indexOf(state.run)] : null;
    const differs = (one) => new Set(one.runs.map(([, hits]) => hits.map(([document]) => document).join(" "))).size > 1;
    return new rad.report.Browser({
      section, prefix: "q", noun: "query",
      items: () => items, byIndex: (index) => items[index],
      fields: [
        data.runs.length > 1 && { name: "run", label: "Run", options: any(data.runs) },
        data.runs.length > 1 && { name: "differ", label: "only where they differ" },
        data.measures.length && { name: "none", label: "nothing relevant in the first ten" },
      ].filter(Boolean),
      matches: (one, state) => {
        if (state.differ && !differs(one)) { return null; }
        const seen = chosen(state) || one.runs.map((_, run) => run);
        return state.none && !seen.some((run) => !one.runs[run][1].some(([, relevance]) => relevance > 0)) ? null : {};
      },
      textMatch: async (one, match, words) => `${one.id} ${one.runs.map(([, hits]) => hits.map(([document]) => document).join(" ")).join(" ")}`.toLowerCase().includes(words) ? match : null,
      row: (one) => lines(one.id, data.measures.length ? `${one.relevant} relevant` : `${one.runs.filter(([, hits]) => hits.length).length} runs`),
      render: async (one, match, state) => {
        const id = `q${one.index + 1}`, seen = chosen(state) || one.runs.map((_, run) => run);
        const hit = ([document, relevance]) => rad.h("li", { class: relevance > 0 ? "yes" : null }, rad.h("bdi", null, document), relevance > 0 ? ` (relevance ${relevance})` : null);
        return [rad.h("header", { id }, rad.h("h3", null, rad.h("a", { href: `#${id}` }, `Query ${one.id}`)),
          data.measures.length ? rad.h("p", { class: "soft" }, `${one.relevant} relevant documents`) : null),
        rad.h("div", { class: "compare", tabindex: "0", role: "group", "aria-label": `The first documents of ${seen.length} runs` }, seen.map((run) => rad.h("section", { class: "column turn", id: `${id}-t${run + 1}` },
          rad.h("h4", null, data.runs[run]),
          one.runs[run][0].length ? rad.h("p", { class: "soft num" }, one.runs[run][0].map((value, at) => `${data.measures[at]} ${value.toFixed(3)}`).join(", ")) : null,
          rad.h("ol", { class: "hits" }, one.runs[run][1].map(hit)),
          one.runs[run][1].length ? null : rad.h("p", { class: "soft" }, "No results."))))];
      },
    });
  };

  for (const [name, make] of Object.entries({ debates: rad.report.debates, wholes: rad.report.contests, queries: rad.report.queries })) {
    const section = document.getElementById(name);
    if (section) { make(section, rad.island(`data-${name}`)); }
  }
  rad.report.start();
}
