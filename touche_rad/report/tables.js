"use strict";
/* The tabs Claims, Agreement, Cost and Files. */
{
  const { html } = rad;
  const { data, tabs, Table, Matrix } = rad.report;
  const page =
    ({ caption, note }, view) =>
    () =>
      html`<h1>${caption}</h1>
        ${note && html`<p class="soft">${note}</p>`} ${view}`;
  /* Claims by runs; those that differ most are first. */
  tabs.claims = () => {
    const { claims, names } = rad.report.debates();
    const grids = data.claims.tables.map(({ caption, values }) => {
      const rows = claims.map(({ index, text, debates }) => {
        const at = `#d${index + 1}`;
        const cells = names.map(
          (_, run) =>
            debates.some(({ runs }) => runs.includes(run)) && [
              values[index][run],
              "",
              `${at}&with=${run}`,
            ],
        );
        const known = cells.flatMap((cell) => cell?.[0] ?? []);
        const isWords = known.some(isNaN);
        const spread = isWords ? `${new Set(known).size}` : Math.max(...known) - Math.min(...known);
        return [[`${index + 1}. ${text}`, "", at], ...cells, known.length ? spread : 0];
      });
      rows.sort((a, b) => b.at(-1) - a.at(-1));
      return html`<${Table}
        heads=${["claim", ...names, "spread"]}
        ...${{ caption, rows }}
        isGrid
      />`;
    });
    return page(data.claims, grids);
  };
  tabs.agreement = () => page(data.agreement, html`<${Matrix} ...${data.agreement} />`);
  tabs.cost = () => page(data.cost, html`<${Table} ...${data.cost} />`);
  tabs.files = () =>
    page(data.files, [
      data.faults.map(
        ([name, , text]) =>
          html`<p class="notice error" role="note">
            <b>${name}:</b> <span class="text">${text}</span>
          </p>`,
      ),
      html`<${Table} ...${data.files} />`,
    ]);
}
