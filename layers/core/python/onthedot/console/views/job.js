// @ts-check
// The view *One job*: why first, then runs, attempts, history; next fires, run now and definition next to them.
import { cls, html, useEffect, useMemo, useRef, useState } from "../lib/html.js";
import { COPY } from "../lib/copy_as.js";
import { useKeys } from "../lib/keys.js";
import { usePoll } from "../lib/poll.js";
import { href, setQuery, workflowHref } from "../lib/router.js";
import { Acts, mayAct, role } from "../lib/session.js";
import { canCancel, canEdit, canPause, isRange } from "../lib/states.js";
import { ms, now } from "../lib/time.js";
import { Dot } from "../charts/dots.js";
import { Button, Card, copyCommand, copyText } from "../components/bits.js";
import { Pill } from "../components/marks.js";
import { Said } from "../components/said.js";
import { Failed, Loading, Stale } from "../components/states.js";
import { cancel, pause, pauseOrResume, redrive, remove, resume, runNow } from "./job/actions.js";
import { Edit } from "./job/edit.js";
import { History, PAGE } from "./job/history.js";
import { Changes, Definition, Fires, RunNow, comesAfter, overdueOf, useHerd } from "./job/rail.js";
import { Run } from "./job/run.js";
import { Timeline } from "./job/timeline.js";
import { Why } from "./job/why.js";
import { scheduleOf, usePreview } from "./new/fires.js";

export const title = () => "Job";

const LEGEND = [
  ["SUCCEEDED", "succeeded"],
  ["SUCCEEDED", "after a retry", true],
  ["FAILED", "failed"],
  ["SKIPPED", "skipped"],
  ["COMING", "coming"],
];
/** What is rare is in the legend when it is drawn. */
const RARE = [
  ["RETRYING", "waiting to retry"],
  ["OVERDUE", "overdue"],
];

/** Whether the key P has something to do: pause, or resume. */
const stops = (job) => job.status === "PAUSED" || canPause(job);

/** Coming fires: of the preview, or counted from the next one, since `every` keeps its own beat. Those that passed do not come. */
function useComing(job) {
  const cron = job?.cron && (job.next_fire_time || job.status === "PAUSED") ? scheduleOf(job) : null;
  const preview = usePreview(cron, { at: job?.next_fire_time ?? "", wait: 0 });
  const passed =
    job?.every && job.next_fire_time
      ? Math.max(0, Math.ceil((comesAfter(job) - ms(job.next_fire_time)) / (job.every * 1000)))
      : 0;
  const counted = useMemo(() => {
    if (!job?.every || !job.next_fire_time) return null;
    const most = Math.min(30, job.max_runs ? Math.max(1, job.max_runs - (job.runs ?? 0)) : 30);
    const first = ms(job.next_fire_time) + passed * job.every * 1000;
    const times = Array.from({ length: most }, (_, place) => first + place * job.every * 1000).filter(
      (time) => !job.end_at || time <= ms(job.end_at),
    );
    return {
      fires: times.map((time) => ({ time: new Date(time).toISOString(), note: null })),
      error: null,
      loading: false,
    };
  }, [job?.every, job?.next_fire_time, job?.end_at, passed]);
  return counted ?? { ...preview, fires: preview.fires.filter((fire) => ms(fire.time) > comesAfter(job)) };
}

export default function View({ route: { params, query } }) {
  const path = `jobs/${encodeURIComponent(params.id)}`;
  const poll = usePoll(path);
  const why = usePoll(`${path}/explain`);
  const runs = usePoll(`${path}/executions`, { limit: PAGE });
  const job = poll.data;
  const list = runs.data?.executions ?? [];
  const listed = list.find((run) => run.execution_id === query.run);
  const single = usePoll(query.run && runs.data && !listed ? `executions/${encodeURIComponent(query.run)}` : null, {});
  const chosen =
    listed ??
    single.data ??
    (query.run ? null : (list.find((run) => run.attempts?.length) ?? list.find((run) => !isRange(run))));
  const coming = useComing(job);
  const herd = useHerd(job);
  const [editing, setEditing] = useState(false);
  const refresh = () => [poll, why, runs, single].forEach((each) => each.refresh());
  useEffect(() => {
    if (job) document.title = `${job.name ?? job.job_id} · onthedot`;
  }, [job?.name]);
  const said = (action) => why.data?.what_if.find((each) => each.action === action)?.message;
  useDo(job, query.do, {
    run: () => runNow(job, refresh, undefined, said("run_now")),
    pause: () => stops(job) && pauseOrResume(job, refresh, { asks: true }),
    edit: () => canEdit(job) && setEditing(true),
    why: () => document.getElementById("why-h")?.focus(),
  });
  useShown(chosen?.execution_id, query.run);
  const move = (step) => () => {
    const at = list.findIndex((run) => run.execution_id === chosen?.execution_id);
    const next = list[at + step];
    if (!next) return false;
    setQuery({ run: next.execution_id });
    return true;
  };
  const acts = (act) => () => (job && mayAct.value ? (act(), true) : false);
  useKeys({
    w: () => document.getElementById("why-h")?.focus(),
    r: acts(() => runNow(job, refresh, undefined, said("run_now"))),
    p: acts(() => stops(job) && pauseOrResume(job, refresh)),
    e: acts(() => canEdit(job) && setEditing(true)),
    ArrowLeft: move(1),
    ArrowRight: move(-1),
    c: () => void copyCommand(COPY.get(params.id)),
    y: () => copyText(location.href, "Link copied"),
  });
  if (!job)
    return html`<h1 class="vh">Job</h1>${poll.error ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />` : html`<${Loading} rows=${8} label="Loading the job" />`}`;
  return html`<${Stale} poll=${poll} /><div class=${cls("job-page", poll.stale && "stale")}><${Heading} job=${job} refresh=${refresh} said=${said} onEdit=${() => setEditing(true)} /><${Why} job=${job} poll=${why} />
    <div class="grid cols-rail job-grid"><div class="stack"><${Runs} job=${job} runs=${runs} coming=${coming.fires} chosen=${chosen?.execution_id} />
        ${single.error && html`<${Failed} error=${single.error} onRetry=${single.refresh} />`}<${Run} run=${chosen} onRedrive=${(run) => redrive(run, refresh, said("redrive"))} /><${History} job=${job} latest=${runs} chosen=${chosen?.execution_id} /></div>
      <div class="stack rail"><${Fires} job=${job} preview=${coming} herd=${herd} /><${RunNow} job=${job} onRun=${(payload) => runNow(job, refresh, payload)} /><${Definition} job=${job} onEdit=${canEdit(job) ? () => setEditing(true) : null} /><${Changes} job=${job} /></div></div></div>
    ${editing && html`<${Edit} job=${job} onClose=${() => setEditing(false)} onSaved=${refresh} />`}`;
}

/** Show the card of a run that the reader chose from the history, which is further down. The page itself starts at the top. */
function useShown(id, asked) {
  const before = useRef(asked);
  useEffect(() => {
    if (asked && asked !== id) return;
    if (asked && before.current !== asked) document.querySelector(".o-att")?.scrollIntoView({ block: "nearest" });
    before.current = asked;
  }, [id, asked]);
}

/** An action that a link asks for: `?do=run`. It is asked once, when the job and the role of the reader are known. */
function useDo(job, what, known) {
  const isReady = Boolean(job) && (what === "why" || mayAct.value || role.value !== null);
  useEffect(() => {
    if (!isReady || !what) return;
    setQuery({ do: null });
    if (what === "why" || mayAct.value) known[what]?.();
  }, [isReady, what]);
}

function Heading({ job, refresh, said, onEdit }) {
  const tags = Object.entries(job.tags ?? {});
  const crumbs = html`<a href="#/jobs">Jobs</a>${job.workflow_id && html`<span aria-hidden="true">/</span><a href=${workflowHref(job.workflow_id)}>Workflow</a>`}<span aria-hidden="true">/</span><span class="mono">${job.job_id}</span>`;
  const name = job.name ?? job.job_id;
  return html`<div class="head job"><div><nav class="crumbs" aria-label="Place">${crumbs}</nav><div class="title"><h1>${name}</h1><${Pill} status=${job.status} />
      ${tags.map(([key, value]) => html`<a class="tag" href=${href("/jobs", { tag: value ? `${key}=${value}` : key })}>${value ? `${key}=${value}` : key}</a>`)}</div></div>
    <${Acts}><div class="acts">${canEdit(job) && html`<${Button} icon="edit" onClick=${onEdit}>Edit<//>`}
      ${job.status === "PAUSED" ? html`<${Button} icon="play" onClick=${() => resume(job, refresh)}>Resume<//>` : canPause(job) && html`<${Button} icon="pause" onClick=${() => pause(job, refresh)}>Pause<//>`}
      ${canCancel(job) && html`<${Button} kind="danger" onClick=${() => cancel(job, refresh)}>Cancel<//>`}<${Button} kind="danger" onClick=${() => remove(job)}>Delete<//>
      <${Button} kind="primary" icon="play" hotkey="R" onClick=${() => runNow(job, refresh, undefined, said("run_now"))}>Run now<//></div><//></div>`;
}

const Legend = ({ drawn }) =>
  html`<span class="legend">${[...LEGEND, ...RARE.filter(([status]) => drawn.includes(status))].map(([status, text, retried]) => html`<span><svg viewBox="0 0 12 12" aria-hidden="true"><${Dot} status=${status} retried=${retried} x=${6} y=${6} /></svg>${text}</span>`)}</span>`;

function Runs({ job, runs, coming, chosen }) {
  const overdue = overdueOf(job);
  const drawn = [...(runs.data?.executions ?? []).map((run) => run.status), ...(overdue ? ["OVERDUE"] : [])];
  return html`<${Card} title="Runs" hint="height is lateness, log scale" right=${html`<${Legend} drawn=${drawn} />`} className="o-runs">
    ${
      runs.error && !runs.data
        ? html`<${Failed} error=${runs.error} onRetry=${runs.refresh} />`
        : !runs.data
          ? html`<${Loading} rows=${3} label="Loading runs" />`
          : html`<${Timeline} runs=${runs.data.executions.filter((run) => isRange(run) || ms(run.fire_time) <= now.value)} overdue=${overdue} coming=${job.status === "PAUSED" ? [] : coming.filter((fire) => ms(fire.time) > now.value)} chosen=${chosen} onChoose=${(id) => setQuery({ run: id })} />`
    }
    ${runs.data?.unreadable?.length ? html`<p class="t-fail">${runs.data.unreadable.length} runs cannot be read: <${Said} text=${runs.data.unreadable[0].reason} /></p>` : null}<//>`;
}
