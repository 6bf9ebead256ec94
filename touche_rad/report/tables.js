"use strict";
/* The tabs Claims, Agreement, Cost and Files: tables, each with a title and a note. */
{
  const { html } = rad;
  const { data, tabs, Table, Matrix } = rad.report;
  const page =
    ({ caption, note }, view) =>
    () =>
      html`<h1>${caption}</h1>
        ${note && html`<p class="soft">${note}</p>`} ${view}`;
  /* A row for each claim and a column for each run: those that differ most are first. */
  tabs.claims = () => {
    const { claims, names } = rad.report.debates();
    const rows = claims.map(({ index, text, debates }) => {
      const at = `#d${index + 1}`;
      const cells = names.map(
        (_, run) =>
          debates.some(({ runs }) => runs.includes(run)) && [
            data.by_claim[index][run],
            "",
            `${at}&with=${run}`,
          ],
      );
      const values = cells.flatMap((cell) => cell?.[0] ?? []);
      const spread = values.length && Math.max(...values) - Math.min(...values);
      return [[`${index + 1}. ${text}`, "", at], ...cells, spread];
    });
    rows.sort((a, b) => b.at(-1) - a.at(-1));
    const table = {
      ...{ caption: "Yes by claim and run", heads: ["claim", ...names, "spread"], rows },
      note: "The mean verdict: yes is 1, no is 0. The runs differ most on the first. A cell opens its debate.",
    };
    return page(table, html`<${Table} ...${table} isGrid />`);
  };
  tabs.agreement = () => page(data.agreement, html`<${Matrix} ...${data.agreement} />`);
  tabs.cost = () => page(data.costs, html`<${Table} ...${data.costs} />`);
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
