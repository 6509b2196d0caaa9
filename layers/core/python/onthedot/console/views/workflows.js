// @ts-check
// The view *Workflows*: all of them, the latest first, each with its progress.
import { html } from "../lib/html.js";
import { COPY } from "../lib/copy_as.js";
import { count } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { href, setQuery, workflowHref } from "../lib/router.js";
import { now } from "../lib/time.js";
import { scheduleWords } from "../lib/words.js";
import { Ago, CopyAs, Head, Segments, Time } from "../components/bits.js";
import { Pill } from "../components/marks.js";
import { NameSearch } from "../components/search.js";
import { Empty, Polled } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { Progress, modelOf, whyOf } from "./workflow/model.js";

export const title = () => "Workflows";

const PAGE = 10;
const KINDS = [
  ["", "All"],
  ["one-off", "Once"],
  ["recurring", "Recurring"],
];
const LIVE_MS = 10_000;

export default function View({ route }) {
  const { name = "", kind = "", cursor = "" } = route.query;
  const poll = usePoll("jobs", { workflow: "*", name, kind, cursor, limit: PAGE }, { every: LIVE_MS });
  const choices = KINDS.map(([value, label]) => ({
    href: href("/workflows", { name, kind: value }),
    label,
    current: kind === value,
  }));
  return html`<${Head} title="Workflows" lead="Graphs of jobs that wait for each other, newest first." />
    <div class="filters"><div class="line1"><${NameSearch} name=${name} label="Find by the start of a name" /><${Segments} label="Kind" choices=${choices} small /></div></div>
    <${Polled} poll=${poll}>${(data) => html`<${List} data=${data} query=${route.query} />`}<//>`;
}

function List({ data, query }) {
  const turn = (step) => {
    if (step < 0) return query.cursor ? (history.back(), true) : false;
    if (!data.next_cursor) return false;
    setQuery({ cursor: data.next_cursor }, { replace: false });
    return true;
  };
  const isFiltered = query.name || query.kind || query.cursor;
  const more = data.next_cursor || query.cursor;
  if (!data.jobs.length && !more)
    return isFiltered
      ? html`<${Empty} title="No workflow matches" text="Remove a filter, or type the start of the name." />`
      : html`<${Empty} title="No workflows yet" text="A workflow is a graph of jobs that wait for each other. POST /v1/workflows, or the command below, starts one."><div class="starts"><${CopyAs} calls=${COPY.startWorkflow()} /></div><//>`;
  const columns = [
    {
      id: "name",
      label: "Workflow",
      cell: (job) =>
        html`<a class="name" href=${workflowHref(job.job_id)}>${job.name ?? job.job_id}</a><span class="sub">${scheduleWords(job)}</span>`,
    },
    { id: "state", label: "State and progress", className: "w-state", cell: (job) => html`<${State} job=${job} />` },
    {
      id: "made",
      label: "Created",
      className: "w-start",
      cell: (job) => html`<${Time} at=${job.created_at} seconds=${false} />`,
    },
    {
      id: "next",
      label: "Next run",
      className: "w-next",
      cell: (job) =>
        job.next_fire_time ? html`<${Ago} at=${job.next_fire_time} />` : html`<span class="faint">–</span>`,
    },
  ];
  return html`<div class="card"><${DataTable} columns=${columns} rows=${data.jobs} rowKey=${(job) => job.job_id} caption="Workflows, newest first" className="flows" onPage=${turn} />
    ${!data.jobs.length && html`<p class="pad faint">None on this page. There may be more on the next.</p>`}
    ${
      more &&
      html`<div class="pager"><span>${count(data.jobs.length)} on this page</span><span class="r">${query.cursor && html`<button type="button" class="btn small" onClick=${() => turn(-1)}>Before<kbd aria-hidden="true">[</kbd></button>`}
      ${data.next_cursor && html`<button type="button" class="btn small" onClick=${() => turn(1)}>Next<kbd aria-hidden="true">]</kbd></button>`}</span></div>`
    }</div>`;
}

/** The state of a workflow comes from its jobs: the list of jobs knows only whether the graph was made. */
function State({ job }) {
  const poll = usePoll(`workflows/${encodeURIComponent(job.job_id)}`, {}, { every: 15_000 });
  if (!poll.data)
    return poll.error
      ? html`<span class="faint">${poll.error.message}</span>`
      : html`<span class="sk w60" aria-hidden="true"></span>`;
  const { progress, status } = poll.data;
  const why = whyOf(modelOf(poll.data), now.value);
  return html`<span class="wstate"><${Pill} status=${status} /><${Progress} progress=${progress} className="prog small" /><span class="faint nowrap">${count(progress.ended)} of ${count(progress.total)} ended</span></span>
    ${status !== "SUCCEEDED" && html`<span class="sub">${why.strong}</span>`}`;
}
