// @ts-check
// One worker: what it runs now, its latest runs, and what it offers.
import { html } from "../../lib/html.js";
import { usePoll } from "../../lib/poll.js";
import { href, jobHref } from "../../lib/router.js";
import { duration, ms } from "../../lib/time.js";
import { Ago, Card, Head, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { Empty, Loading, Polled } from "../../components/states.js";
import { DataTable } from "../../components/table.js";
import { abilities } from "../workers.js";
import { Cpu, Heartbeat, Places, Space, State, workerSentence } from "./gauges.js";

const LATEST = 50;

export function OneWorker({ id }) {
  const poll = usePoll(`workers/${encodeURIComponent(id)}`);
  const runs = usePoll("executions", { worker_id: id, limit: LATEST });
  const crumbs = html`<a href=${href("/workers")}>Workers</a>`;
  return html`<${Head} title=${id} crumbs=${crumbs} lead=${poll.data && workerSentence(poll.data)}>${poll.data && html`<${State} worker=${poll.data} />`}<//>
    ${
      poll.error?.status === 404 && !poll.data
        ? html`<${Empty} title="Worker not found" text="Workers are forgotten after a day without a heartbeat."><a class="btn" href=${href("/workers")}>All workers</a><//>`
        : html`<${Polled} poll=${poll}>${(worker) => html`<div class="grid cols-rail"><div class="stack"><${Runs} poll=${runs} /></div><${Facts} worker=${worker} /></div>`}<//>`
    }`;
}

function Runs({ poll }) {
  return html`<${Polled} poll=${poll} loading=${html`<${Card} title="Runs"><${Loading} label="Loading the runs" /><//>`}>${(
    data,
  ) => {
    const now = data.executions.filter((run) => run.status === "RUNNING");
    const ended = data.executions.filter((run) => run.status !== "RUNNING");
    return html`<div class="stack"><${Card} title="Runs now" hint=${now.length ? "longest first" : null} flush=${now.length > 0}>${now.length ? html`<${NowTable} runs=${now} />` : html`<p class="faint">It is not running anything.</p>`}<//>
      <${Card} title="Latest runs" hint="runs whose last attempt was here" flush=${ended.length > 0}>${ended.length ? html`<${EndedTable} runs=${ended} />` : html`<p class="faint">It has not finished a run yet.</p>`}<//></div>`;
  }}<//>`;
}

const name = (run) =>
  html`<a class="name" href=${jobHref(run.job_id, { run: run.execution_id })}>${run.name ?? run.job_id}</a><span class="sub cut">${run.target ?? ""}</span>`;

function NowTable({ runs }) {
  const columns = [
    { id: "job", label: "Job", cell: name },
    { id: "started", label: "Started", className: "nowrap", cell: (run) => html`<${Time} at=${run.started_at} />` },
    { id: "for", label: "For", num: true, cell: (run) => duration(run.running_ms) },
    {
      id: "progress",
      label: "Progress",
      className: "x1",
      cell: (run) =>
        run.progress
          ? html`${run.progress.fraction == null ? "" : `${Math.round(run.progress.fraction * 100)} % `}<span class="muted">${run.progress.text ?? ""}</span>`
          : html`<span class="faint">–</span>`,
    },
    {
      id: "deadline",
      label: "Timeout",
      className: "nowrap x1",
      cell: (run) => (run.deadline ? html`<${Ago} at=${run.deadline} />` : "–"),
    },
  ];
  return html`<${DataTable} columns=${columns} rows=${[...runs].sort((one, other) => (other.running_ms ?? 0) - (one.running_ms ?? 0))} rowKey=${(run) => run.execution_id} caption="Table of runs now" className="w-runs" />`;
}

function EndedTable({ runs }) {
  const took = (run) => (run.started_at && run.finished_at ? duration(ms(run.finished_at) - ms(run.started_at)) : "–");
  const columns = [
    { id: "state", label: "State", cell: (run) => html`<${Pill} status=${run.status} />` },
    { id: "job", label: "Job", cell: name },
    { id: "ended", label: "Ended", className: "nowrap", cell: (run) => html`<${Time} at=${run.finished_at} />` },
    { id: "took", label: "Took", num: true, className: "x1", cell: took },
    {
      id: "error",
      label: "Error",
      className: "x1",
      cell: (run) => html`<span class="muted err-text"><${Said} text=${run.error} /></span>`,
    },
  ];
  return html`<${DataTable} columns=${columns} rows=${runs} rowKey=${(run) => run.execution_id} caption="Table of the latest runs" className="w-runs" keys=${false} />`;
}

function Facts({ worker }) {
  const rows = [
    ["Heartbeat", html`<${Heartbeat} worker=${worker} />`],
    ["Places", html`<${Places} worker=${worker} />`],
    ["CPU", html`<${Cpu} worker=${worker} />`],
    ["Memory", html`<${Space} worker=${worker} field="memory_mb" name="Memory" />`],
    ["Storage", html`<${Space} worker=${worker} field="storage_mb" name="Storage" />`],
    ["Pool", html`<a class="link" href=${href("/queues", { pool: worker.pool })}>${worker.pool}</a>`],
    ["Host", worker.host || "–"],
    ["Registered", html`<${Time} at=${worker.registered_at} />`],
    ["Lease", `${worker.lease_seconds} s, heartbeat every ${worker.heartbeat_seconds} s`],
    [
      "Can do",
      html`<span class="tags">${abilities(worker).map((each) => html`<span class="tag">${each}</span>`)}</span>`,
    ],
  ];
  return html`<${Card} title="Details"><dl class="kv">${rows.map(([term, value]) => html`<dt>${term}</dt><dd>${value}</dd>`)}</dl><//>`;
}
