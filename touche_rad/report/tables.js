"use strict";
/* The tabs Agreement, Cost and Files. */
{
  const { html } = rad;
  const { data, Table, Matrix } = rad.report;
  rad.report.Agreement = () =>
    html`<h1>How far judges agree, beyond chance</h1>
      <p class="soft">
        Cohen’s kappa on the verdicts that both give, weighted on scales, as the mean of the
        criteria: 1 is full agreement, 0 is chance. Each stands beside the one with which it agrees
        most; “–”: no common verdicts.
      </p>
      <${Matrix} caption="Agreement" ...${data.agreement} />`;
  rad.report.Cost = () =>
    html`<h1>Model calls</h1>
      <p class="soft">
        Calls run in parallel, so the sum of their seconds is more than the run took.
      </p>
      <${Table} ...${data.costs} />`;
  rad.report.Files = () =>
    html`<h1>Files</h1>
      ${data.faults.map(
        ([name, , text]) =>
          html`<p class="notice error" role="note">
            <b>${name}:</b> <span class="text">${text}</span>
          </p>`,
      )}
      <${Table} ...${data.files} />`;
}
