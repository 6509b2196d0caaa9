// @ts-check
// The view *Workflow*: why it is not done, its graph or list, when each job ran, and the chosen job.
import { html, useState } from "../lib/html.js";
import { call } from "../lib/api.js";
import { COPY } from "../lib/copy_as.js";
import { count, plural } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { usePoll } from "../lib/poll.js";
import { href, jobHref, setQuery, workflowHref } from "../lib/router.js";
import { Acts } from "../lib/session.js";
import { clock, moment, now, wholeDuration } from "../lib/time.js";
import { scheduleWords } from "../lib/words.js";
import { Ago, Button, Card, CopyAs, Segments } from "../components/bits.js";
import { confirm } from "../components/dialog.js";
import { Pill } from "../components/marks.js";
import { Said } from "../components/said.js";
import { Polled } from "../components/states.js";
import { announce } from "../components/toast.js";
import { Graph, Legend } from "./workflow/graph.js";
import { JobList } from "./workflow/list.js";
import { Progress, isEnded, modelOf, spanOf, whyOf } from "./workflow/model.js";
import { Panel } from "./workflow/panel.js";
import { Times } from "./workflow/times.js";

export const title = () => "Workflow";

const MOST_IN_GRAPH = 500;
const LIST_FIRST = 100;
const QUIET = ["running", "waiting_for_parents", "not_due"];

export default function View({ route }) {
  const id = route.params.id;
  const [large, setLarge] = useState(false);
  const poll = usePoll(`workflows/${encodeURIComponent(id)}`, {}, { every: large ? 15_000 : 5000 });
  const isLarge = (poll.data?.jobs.length ?? 0) > LIST_FIRST;
  if (isLarge !== large && poll.data) setLarge(isLarge);
  if (!poll.data) return html`<h1 class="vh">Workflow</h1><${Polled} poll=${poll} />`;
  return html`<${Polled} poll=${poll}>${(data) => html`<${Whole} data=${data} query=${route.query} refresh=${poll.refresh} />`}<//>`;
}

function Whole({ data, query, refresh }) {
  const model = modelOf(data);
  const at = now.value;
  const why = whyOf(model, at);
  const mayDraw = model.jobs.length <= MOST_IN_GRAPH;
  const as =
    query.as === "list" || !mayDraw
      ? "list"
      : query.as === "graph"
        ? "graph"
        : model.jobs.length > LIST_FIRST
          ? "list"
          : "graph";
  const chosen =
    model.byKey.get(query.job) ??
    why.job ??
    model.jobs.find((job) => job.critical && !isEnded(job)) ??
    model.jobs.at(-1);
  const choose = (step) => () => {
    const next = model.jobs[model.jobs.indexOf(chosen) + step];
    if (next) setQuery({ job: next.key });
    return Boolean(next);
  };
  useKeys(as === "graph" ? { j: choose(1), k: choose(-1) } : {});
  const parts = { model, chosen: chosen?.key, at, query };
  return html`<${Top} ...${{ model, as, mayDraw, query, refresh }} /><${Why} why=${why} model=${model} at=${at} />
    <div class="stack">${
      as === "graph"
        ? html`<${Card} title="Graph" hint="heavy line: critical path; dashed: to come" right=${html`<${Legend} progress=${model.progress} />`} className="wgraph"><${Graph} ...${parts} /><//>
        <div class="grid cols-rail wbelow"><${Card} title="Time" hint="bold: critical path"><${Times} model=${model} at=${at} /><//><${Panel} key=${chosen?.job_id} model=${model} job=${chosen} at=${at} query=${query} /></div>`
        : html`<div class="grid cols-rail wlist"><${JobList} ...${parts} /><div class="stack sticky"><${Panel} key=${chosen?.job_id} model=${model} job=${chosen} at=${at} query=${query} /></div></div>`
    }
      ${model.schedule && html`<${Schedule} model=${model} />`}</div>`;
}

function Top({ model, as, mayDraw, query, refresh }) {
  const [shown, setShown] = useState(false);
  const name = model.name ?? "Workflow";
  const run = model.fire_time ? `, ${model.schedule ? "run of" : "from"} ${moment(model.fire_time)}` : "";
  const to = (value) => workflowHref(model.workflow_id, { ...query, as: value, page: null });
  const crumbs = html`<a href=${href("/workflows")}>Workflows</a><span aria-hidden="true">/</span><span class="mono">${model.workflow_id}</span>`;
  const live =
    model.jobs.some((job) => !isEnded(job)) ||
    (model.schedule && !["COMPLETED", "CANCELLED"].includes(model.schedule.status));
  return html`<div class="head wf"><div><nav class="crumbs" aria-label="Place">${crumbs}</nav><div class="title"><h1>${name}${run}</h1><${Pill} status=${model.status} /></div></div>
    <div class="acts">${
      mayDraw &&
      html`<${Segments} label="View" choices=${[
        { href: to("graph"), label: "Graph", current: as === "graph" },
        { href: to("list"), label: "List", current: as === "list" },
      ]} />`
    }
      <${Button} icon="term" aria-expanded=${String(shown)} onClick=${() => setShown(!shown)}>Show as<//>
      ${live && html`<${Acts}><${Button} kind="danger" onClick=${() => cancel(model, refresh)}>Cancel workflow<//><//>`}</div></div>
    ${shown && html`<div class="card showas"><div class="pad"><${CopyAs} calls=${COPY.workflow(model.workflow_id)} /></div></div>`}`;
}

async function cancel(model, refresh) {
  const open = model.jobs.filter((job) => !isEnded(job)).length;
  const text = `${open ? `${plural(open, "job")} that ${open === 1 ? "has" : "have"} not ended will not run; a running attempt is asked to stop.` : "All jobs of its latest run have ended."}${model.schedule ? " Its schedule ends for good." : ""} This cannot be undone.`;
  const yes = await confirm({
    title: `Cancel ${model.name ?? "this workflow"}?`,
    text,
    action: "Cancel workflow",
    danger: true,
    calls: COPY.cancel(model.workflow_id),
  });
  if (!yes) return;
  try {
    await call("PUT", `jobs/${encodeURIComponent(model.workflow_id)}/cancel`);
    announce(
      `Workflow cancelled${model.jobs.some((job) => job.status === "RUNNING") ? "; a run in progress stops at its next heartbeat" : ""}`,
    );
  } catch (error) {
    announce(error.message, { tone: "fail" });
  }
  refresh();
}

function Why({ why, model, at }) {
  const span = spanOf(model, at);
  const explain = usePoll(
    why.job?.job_id && !isEnded(why.job) ? `jobs/${encodeURIComponent(why.job.job_id)}/explain` : null,
    {},
    { every: 5000 },
  );
  const reasons = (explain.data?.reasons ?? []).filter((each) => !QUIET.includes(each.code)).slice(0, 2);
  const live = model.jobs.some((job) => !isEnded(job));
  return html`<section class="card why" aria-labelledby="why-h"><div><h2 id="why-h">${why.heading}</h2><p class="say"><b><${Said} text=${why.strong} /></b> ${why.text}</p>
      ${reasons.map((each) => html`<p class="then">${why.job.title}: <${Said} text=${each.message} />.</p>`)}${why.then && html`<p class="then"><${Said} text=${why.then} /></p>`}</div>
    <div class="side-note wf-side"><${Progress} progress=${model.progress} /><span>${count(model.progress.ended)} of ${count(model.progress.total)} ended${span ? `, ${wholeDuration(span.to - span.from)}${live ? " so far" : ""}` : ""}</span></div></section>`;
}

/** A workflow that recurs: when, and what comes. The graph above is that of its latest run. */
function Schedule({ model }) {
  const { schedule } = model;
  return html`<${Card} title="Schedule" hint="the graph is that of the latest run" right=${html`<a class="more" href=${jobHref(model.workflow_id)}>Runs and changes</a>`}>
    <dl class="kv"><dt>When</dt><dd>${scheduleWords(schedule)}${schedule.timezone ? `, ${schedule.timezone}` : ""}</dd>
      <dt>State</dt><dd><${Pill} status=${schedule.status} /></dd>
      <dt>Next run</dt><dd>${schedule.next_fire_time ? html`${moment(schedule.next_fire_time)} <span class="faint"><${Ago} at=${schedule.next_fire_time} />, ${clock(schedule.next_fire_time, { zone: "UTC" })} UTC</span>` : "none"}</dd>
      ${schedule.runs !== undefined && html`<dt>Runs so far</dt><dd>${count(schedule.runs)}</dd>`}</dl><//>`;
}
