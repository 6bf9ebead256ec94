"use strict";
/* The tabs Whole debates and Queries. */
{
  const { html, number } = rad;
  const { data, contains, Table, Shares } = rad.report;

  /* A graph of arguments as a tree: what supports or attacks a node stands below it. */
  const Tree = ({ graph }) => {
    const seen = new Set();
    const branch = (node, relation) => {
      if (!node || seen.has(node.id)) {
        return null;
      }
      seen.add(node.id);
      const below = graph.edges.filter((edge) => edge.target === node.id);
      const other = (edge) => graph.nodes.find(({ id }) => id === edge.source);
      return html`<li>
        <b class=${node.side}>${node.side}</b>${" "}
        <span class=${relation === "rebuttal" ? "no" : "soft"}>${relation}</span>${" "}
        <span class="text">${node.text}</span>
        ${
          below.length > 0 &&
          html`<ul>
            ${below.map((edge) => branch(other(edge), edge.relation))}
          </ul>`
        }
      </li>`;
    };
    return html`<ul class="tree">
      ${graph.nodes.map((node) => branch(node, ""))}
    </ul>`;
  };

  const Timeline = ({ timeline: { speeches, rows }, sides }) => {
    const view = (score, comment) =>
      html`<details>
        <summary>${number(score, Number.isInteger(score) ? 0 : 1)}</summary>
        <span class="text">${comment || "no comment"}</span>
      </details>`;
    const cell = ([score, comment]) =>
      score === null ? [0, "–"] : [Math.min(score, 10) / 10, view(score, comment)];
    return html`<${Shares}
      caption="Scores by speech"
      heads=${speeches.map(([at, name]) => html`<th scope="col" class=${sides[name]}>${at} ${name}</th>`)}
      rows=${rows.map(([dimension, cells]) => [dimension, cells.map(cell)])}
    />`;
  };

  const Whole = ({ record: { sides, speeches, winners, verdicts }, find, id }) =>
    html`${winners && html`<${Table} ...${winners} />`}
      <div class="columns">
        ${["pro", "con"].map(
          (side) =>
            html`<section aria-label=${side}>
              ${speeches.map(
                ([speaker, of, text, by], at) =>
                  of === side &&
                  html`<h3 class=${side}>${at + 1}. ${speaker} (${side})</h3>
                    ${by && html`<p class="no">${by} answered as its fallback</p>`}
                    <p class="text">${find(text)}</p>`,
              )}
            </section>`,
        )}
      </div>
      ${verdicts.map(
        ({ run, judge, winner, reason, comment, graph, timeline, tables }, at) =>
          html`<section class="turn" id="${id}-t${at + 1}">
            <h3>${run} <small class="soft">${judge}</small>: ${winner || "no winner"}</h3>
            ${reason && html`<p class="no">${winner && "judged in part: "}${reason}</p>`}
            <p class="text">${comment}</p>
            ${timeline && html`<${Timeline} ...${{ timeline, sides }} />`}
            ${graph && html`<${Tree} ...${{ graph }} />`}
            ${
              tables.length > 0 &&
              html`<details>
                <summary>Details</summary>
                ${tables.map((table) => html`<${Table} ...${table} />`)}
              </details>`
            }
          </section>`,
      )}`;
  const Query = ({ record }) =>
    html`<div class="columns">
      ${Object.entries(record).map(
        ([run, ranking]) =>
          html`<section class="turn">
            <h3>${run}</h3>
            <ol>
              ${ranking.map(
                ([argument, text, relevance]) =>
                  html`<li>
                    ${relevance !== null && html`<${rad.Verdict} name=${relevance > 0 ? "relevant" : "not relevant"} yes=${relevance > 0} /> `}
                    <span class="text">${text}</span> <bdi class="soft">${argument}</bdi>
                  </li>`,
              )}
            </ol>
          </section>`,
      )}
    </div>`;

  /* Items are filtered by their tags: { name: [values] }. */
  const reader = (name, noun, nouns, View, about) => () => {
    const items = rad.island(`data-${name}`).map((item, index) => ({
      ...item,
      index,
      text: `${index + 1}. ${item.text}`,
    }));
    const tags = [...new Set(items.flatMap((item) => Object.keys(item.tags)))];
    const valuesOf = (tag) => [...new Set(items.flatMap((item) => item.tags[tag]))];
    const spec = { name, noun, nouns, items, about };
    spec.fields = tags
      .map((tag) => [tag, tag, valuesOf(tag).map((value) => [value, value])])
      .filter(([, , options]) => options.length);
    spec.matches = (item, state) =>
      tags.every((tag) => !state[tag] || item.tags[tag].includes(state[tag])) && {};
    spec.search = async (item, match, words) => {
      const part = await rad.report.part(name[0] + item.part);
      return contains([item.id, item.text, part[item.place]], words) && match;
    };
    spec.Row = ({ item }) => html`<span class="soft">${item.about}</span>`;
    spec.Item = ({ item, value, ...rest }) =>
      html`<p class="soft">${item.id}</p>
        <${View} ...${rest} record=${value[item.place]} />`;
    return ({ address }) => html`<${rad.report.Reader} ...${{ spec, address }} />`;
  };
  rad.report.tabs.wholes = reader("wholes", "whole debate", "whole debates", Whole);
  rad.report.tabs.queries = reader("queries", "query", "queries", Query, data.boards[0]?.measure);
}
