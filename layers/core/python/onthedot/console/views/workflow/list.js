// @ts-check
// A workflow as a list: the right view of a large one.
import { html } from "../../lib/html.js";
import { count, plural, word } from "../../lib/format.js";
import { href, setQuery, workflowHref } from "../../lib/router.js";
import { wholeDuration } from "../../lib/time.js";
import { Card, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { DataTable } from "../../components/table.js";
import { openParents, subline, took } from "./model.js";

const PAGE = 100;
const RANK = [
  "FAILED",
  "RUNNING",
  "DISPATCHED",
  "RETRYING",
  "PAUSED",
  "PENDING",
  "WAITING",
  "CANCELLED",
  "SKIPPED",
  "SUCCEEDED",
];

export function JobList({ model, chosen, at, query }) {
  const status = query.status ?? "";
  const found = model.jobs
    .filter((job) => !status || job.status === status)
    .sort((one, other) => RANK.indexOf(one.status) - RANK.indexOf(other.status) || one.step - other.step);
  const page = Math.min(Math.max(0, Number(query.page) || 0), Math.max(0, Math.ceil(found.length / PAGE) - 1));
  const rows = found.slice(page * PAGE, (page + 1) * PAGE);
  const turn = (step) => {
    const next = page + step;
    if (next < 0 || next * PAGE >= found.length) return false;
    setQuery({ page: next || null }, { replace: false });
    return true;
  };
  const columns = [
    {
      id: "job",
      label: "Job",
      cell: (job) =>
        html`<a class="name" href=${workflowHref(model.workflow_id, { ...query, job: job.key })} aria-current=${job.key === chosen ? "true" : null}>${job.title}</a>${job.title !== job.key && html`<span class="sub">${job.key}</span>`}`,
    },
    { id: "state", label: "State", cell: (job) => html`<${Pill} status=${job.status} />` },
    {
      id: "step",
      label: "Step",
      num: true,
      className: "w-step",
      cell: (job) => html`${job.step + 1}${job.critical ? html`<span class="sub">critical</span>` : null}`,
    },
    {
      id: "why",
      label: "Why",
      className: "w-why",
      cell: (job) =>
        html`<${Said} text=${job.reason ?? (openParents(job, model).length ? `waits ${subline(job, model, at)}` : "")} />`,
    },
    { id: "started", label: "Started", className: "w-start", cell: (job) => html`<${Time} at=${job.started_at} />` },
    {
      id: "took",
      label: "Took",
      num: true,
      cell: (job) => (took(job, at) === null ? "–" : wholeDuration(took(job, at))),
    },
  ];
  const to = (value) =>
    href(`/workflows/${encodeURIComponent(model.workflow_id)}`, { ...query, as: "list", status: value, page: null });
  const chips = html`<nav class="chips" aria-label="State"><a class="chip" aria-current=${status ? null : "true"} href=${to(null)}>All <b>${count(model.jobs.length)}</b></a>
    ${Object.entries(model.progress.by_status).map(([name, number]) => html`<a class="chip" key=${name} aria-current=${status === name ? "true" : null} href=${to(name)}>${word(name)} <b>${count(number)}</b></a>`)}</nav>`;
  return html`<${Card} title="Jobs" hint="problems first" flush><div class="pad">${chips}</div>
    <${DataTable} columns=${columns} rows=${rows} rowKey=${(job) => job.key} caption=${`Jobs of the workflow, ${count(rows.length)} of ${count(found.length)}`} className="wjobs" onPage=${turn} />
    ${
      found.length > PAGE &&
      html`<div class="pager"><span>${count(page * PAGE + 1)} to ${count(page * PAGE + rows.length)} of ${plural(found.length, "job")}</span><span class="r">
      ${page > 0 && html`<button type="button" class="btn small" onClick=${() => turn(-1)}>Before<kbd aria-hidden="true">[</kbd></button>`}${(page + 1) * PAGE < found.length && html`<button type="button" class="btn small" onClick=${() => turn(1)}>Next<kbd aria-hidden="true">]</kbd></button>`}</span></div>`
    }<//>`;
}
