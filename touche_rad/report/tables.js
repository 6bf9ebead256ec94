"use strict";
/* The tabs Claims, Agreement, Cost and Files. */
{
  const { html } = rad;
  const { data, tabs, Faults, Table, Matrix } = rad.report;
  const page =
    ({ caption, note }, view) =>
    () =>
      html`<h1>${caption}</h1>
        ${note && html`<p class="soft">${note}</p>`} ${view}`;
  tabs.claims = () => {
    const { claims, names, order } = rad.report.debates();
    const grids = data.claims.tables.map(({ caption, values }) => {
      const rows = claims.map(({ index, text, debates }) => {
        const at = `#d${index + 1}`;
        const cells = order.map((run) => {
          const hasDebate = debates.some(({ runs }) => runs.includes(run));
          return [hasDebate ? values[index][run] : "–", "", `${at}&with=${run}`];
        });
        const known = order.flatMap((run) => values[index][run] ?? []);
        const isWords = known.some(isNaN);
        const spread = isWords
          ? `${new Set(known).size}`
          : Math.round(1e4 * (Math.max(...known) - Math.min(...known))) / 1e4;
        return [[text, "", at], ...cells, known.length ? spread : 0];
      });
      rows.sort((a, b) => b.at(-1) - a.at(-1));
      return html`<${Table}
        heads=${["claim", ...order.map((run) => names[run]), "spread"]}
        ...${{ caption, rows }}
        isGrid
      />`;
    });
    return page(data.claims, grids);
  };
  tabs.agreement = () => page(data.agreement, html`<${Matrix} ...${data.agreement} />`);
  tabs.cost = () => page(data.cost, html`<${Table} ...${data.cost} />`);
  tabs.files = () => page(data.files, [html`<${Faults} />`, html`<${Table} ...${data.files} />`]);
}
