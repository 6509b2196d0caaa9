// @ts-check
// A workflow as the view needs it: jobs by key, their parents and children, steps, and why it is not done.
import { html } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { clock, moment, ms, relative, wholeDuration } from "../../lib/time.js";
import { listed } from "../../lib/words.js";

const ENDED = new Set(["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "DELETED"]);
const BAD = new Set(["FAILED", "CANCELLED", "DELETED"]);
const MOST_NAMED = 3;

export const isEnded = (job) => ENDED.has(job.status);

/** The answer of GET /v1/workflows/{id} with its jobs by key, in order of their steps. */
export function modelOf(data) {
  const byKey = new Map(
    data.jobs.map((job) => [
      job.key,
      { ...job, title: job.name ?? job.key, parents: job.depends_on, children: [], step: 0 },
    ]),
  );
  for (const job of byKey.values()) for (const parent of job.parents) byKey.get(parent)?.children.push(job.key);
  stepsOf(byKey);
  const path = new Set(data.critical_path);
  for (const job of byKey.values()) job.critical = path.has(job.key);
  return { ...data, byKey, jobs: [...byKey.values()] };
}

/** The step of a job is the length of the longest chain before it. Without recursion: a chain may have 500 jobs. */
function stepsOf(byKey) {
  const left = new Map([...byKey].map(([key, job]) => [key, job.parents.filter((parent) => byKey.has(parent)).length]));
  const ready = [...left].filter(([, count]) => count === 0).map(([key]) => key);
  for (let at = 0; at < ready.length; at += 1) {
    const job = byKey.get(ready[at]);
    for (const child of job.children) {
      byKey.get(child).step = Math.max(byKey.get(child).step, job.step + 1);
      left.set(child, left.get(child) - 1);
      if (left.get(child) === 0) ready.push(child);
    }
  }
}

/** How long a job took, or takes so far, in ms. Null: it has not started. */
export const took = (job, at) =>
  job.started_at ? Math.max(0, (job.finished_at ? ms(job.finished_at) : at) - ms(job.started_at)) : null;

/** Under the name of a job: "2 min 11 s", "17 min 21 s so far", "for 2 parents". */
export function subline(job, model, at) {
  const span = took(job, at);
  if (job.status === "RUNNING" && span !== null) return `${wholeDuration(span)} so far`;
  if (job.status === "FAILED") return job.reason ?? "failed";
  if (job.status === "SKIPPED") return job.reason ?? "skipped";
  if (isEnded(job)) return span === null ? "" : wholeDuration(span);
  const open = openParents(job, model);
  if (open.length) return open.length === 1 ? `for ${open[0].title}` : `for ${open.length} parents`;
  return job.fire_time && ms(job.fire_time) > at ? relative(job.fire_time, at) : job.status.toLowerCase();
}

export const openParents = (job, model) =>
  job.parents.map((key) => model.byKey.get(key)).filter((parent) => parent && !isEnded(parent));

/** Jobs that could go on now: not ended, and all parents have ended. Those on the critical path first. */
const frontier = (model) =>
  model.jobs
    .filter((job) => !isEnded(job) && !openParents(job, model).length)
    .sort((one, other) => other.critical - one.critical);

const names = (jobs) =>
  jobs.length > MOST_NAMED
    ? `${jobs
        .slice(0, MOST_NAMED)
        .map((job) => job.title)
        .join(", ")} and ${jobs.length - MOST_NAMED} more`
    : listed(jobs.map((job) => job.title));

/** {heading, strong, text, then, job}: why the workflow is not done, or how it ended. `job` is the one to look at. */
export function whyOf(model, at) {
  const failed = model.jobs.filter((job) => BAD.has(job.status));
  const then = failed.length ? failures(model, failed) : null;
  if (!model.run_id)
    return {
      heading: "Why it has no graph yet",
      strong: "It has not run yet.",
      text: model.schedule?.next_fire_time ? `The first run is due at ${moment(model.schedule.next_fire_time)}.` : "",
      then,
      job: null,
    };
  if (ENDED.has(model.status)) return ended(model, failed, at);
  const open = frontier(model);
  const first = open[0] ?? null;
  const waiting = first && nextOf(first, model);
  const others = first ? first.children.filter((key) => !isEnded(model.byKey.get(key))).length : 0;
  const strong =
    others > MOST_NAMED
      ? `${plural(others, "job")} wait for ${first.title}.`
      : waiting
        ? `${waiting.title} waits for ${names(openParents(waiting, model))}.`
        : first
          ? `${names(open)} ${open.length === 1 ? "has" : "have"} not ended.`
          : "Its jobs are being created.";
  return {
    heading: "Why it is not done",
    strong,
    text: open
      .slice(0, MOST_NAMED)
      .map((job) => doing(job, at))
      .join(" "),
    then,
    job: first,
  };
}

/** The child that waits for a job: on the critical path if there is one. */
function nextOf(job, model) {
  const children = job.children.map((key) => model.byKey.get(key)).filter((child) => !isEnded(child));
  return children.find((child) => child.critical) ?? children[0] ?? null;
}

function doing(job, at) {
  const span = took(job, at);
  if (job.status === "RUNNING") return `${job.title} runs${span === null ? "" : ` for ${wholeDuration(span)}`}.`;
  if (job.status === "RETRYING")
    return `${job.title} is retried${job.fire_time ? `, ${relative(job.fire_time, at)}` : ""}.`;
  if (job.status === "PAUSED") return `${job.title} is paused.`;
  if (job.fire_time && ms(job.fire_time) > at)
    return `${job.title} is due at ${moment(job.fire_time)}, ${relative(job.fire_time, at)}.`;
  return `${job.title} is due, and has not started.`;
}

function failures(model, failed) {
  const first = failed[0];
  const skipped = model.jobs.filter((job) => job.status === "SKIPPED").length;
  const why = first.reason ? `: ${first.reason}` : "";
  return `${first.title} ${first.status === "FAILED" ? "failed" : `was ${first.status.toLowerCase()}`}${why}${failed.length > 1 ? `; ${plural(failed.length - 1, "other job")} failed too` : ""}${skipped ? `; ${plural(skipped, "job")} ${skipped === 1 ? "was" : "were"} skipped` : ""}.`;
}

function ended(model, failed, at) {
  const span = spanOf(model, at);
  const after = span === null ? "" : ` It took ${wholeDuration(span.to - span.from)} and ended at ${clock(span.to)}.`;
  const root = failed.find((job) => !job.parents.some((key) => BAD.has(model.byKey.get(key)?.status))) ?? failed[0];
  if (model.status === "SUCCEEDED")
    return {
      heading: "How it ended",
      strong: `All ${plural(model.progress.total, "job")} ended.`,
      text: after.trim(),
      then: failed.length ? failures(model, failed) : null,
      job: null,
    };
  if (!root)
    return {
      heading: "Why it did not succeed",
      strong: model.reason ? `${model.reason}.` : `It was ${model.status.toLowerCase()}.`,
      text: after.trim(),
      then: null,
      job: null,
    };
  const others = failed.length - 1;
  return {
    heading: "Why it did not succeed",
    strong: `${root.title} ${root.status === "FAILED" ? "failed" : `was ${root.status.toLowerCase()}`}${root.reason ? `: ${root.reason}` : ""}.`,
    text: after.trim(),
    then: others ? `${plural(others, "other job")} did not succeed either.` : null,
    job: root,
  };
}

/** {from, to} in ms of all that has run, or null. */
export function spanOf(model, at) {
  const starts = model.jobs.map((job) => ms(job.started_at)).filter(Number.isFinite);
  if (!starts.length) return null;
  const ends = model.jobs.filter((job) => job.started_at).map((job) => (job.finished_at ? ms(job.finished_at) : at));
  return { from: Math.min(...starts), to: Math.max(...ends) };
}

// The progress of a workflow as one bar: a part for each state.

const PARTS = [
  ["SUCCEEDED", "bar-ok"],
  ["SKIPPED", "bar-next"],
  ["CANCELLED", "bar-next"],
  ["DELETED", "bar-next"],
  ["FAILED", "bar-fail"],
  ["RUNNING", "bar-run"],
  ["DISPATCHED", "bar-run"],
  ["RETRYING", "bar-late"],
  ["PAUSED", "bar-hold"],
];
const WIDTH = 240;

export function Progress({ progress, className = "prog" }) {
  let x = 0;
  const parts = PARTS.map(([status, tone]) => {
    const width = (WIDTH * (progress.by_status[status] ?? 0)) / Math.max(1, progress.total);
    x += width;
    return { status, tone, x: x - width, width };
  }).filter((part) => part.width);
  return html`<svg class=${className} viewBox=${`0 0 ${WIDTH} 6`} preserveAspectRatio="none" role="img" aria-label=${`${count(progress.ended)} of ${count(progress.total)} jobs ended`}><rect class="bar-soft" width=${WIDTH} height="6" />
    ${parts.map((part) => html`<rect key=${part.status} class=${part.tone} x=${part.x} width=${Math.max(1, part.width - 1.5)} height="6" />`)}</svg>`;
}
