// @ts-check
// A worker in words and small pictures: its state, its places as dots, meters, and the age of its heartbeat.
import { html } from "../../lib/html.js";
import { bytes, count, plural, rate } from "../../lib/format.js";
import { ms, now, nowMs, relative, utcText, wholeDuration } from "../../lib/time.js";
import { listed, opened } from "../../lib/words.js";
import { Pill } from "../../components/marks.js";

const MARKS = { ACTIVE: "succeeded", DRAINING: "paused", LOST: "failed", STOPPED: "cancelled" };
const WORDS = { ACTIVE: "Active", DRAINING: "Draining", LOST: "Lost", STOPPED: "Stopped" };
const MOST_DOTS = 8;

export const State = ({ worker }) =>
  html`<${Pill} status=${MARKS[worker.status] ?? "pending"} text=${WORDS[worker.status] ?? worker.status} />`;

/** A worker that is lost or has stopped uses nothing: what it said last is not so any more. */
const isGone = ({ status }) => status === "LOST" || status === "STOPPED";

/** Runs side by side. A filled dot is a place in use. Many places are one meter. */
export function Places({ worker }) {
  const [busy, all] = [
    isGone(worker) ? 0 : worker.running.length || worker.used.concurrency,
    worker.resources.concurrency,
  ];
  const label = isGone(worker)
    ? `${WORDS[worker.status]}: none of its ${all} places is in use`
    : `${busy} of ${all} places in use`;
  if (all > MOST_DOTS) return html`<${Meter} used=${busy} all=${all} label=${label} text=${`${busy} of ${all}`} />`;
  return html`<svg class="slots" width=${all * 11 + 2} height="12" viewBox=${`0 0 ${all * 11 + 2} 12`} role="img" aria-label=${label}>
    ${Array.from({ length: all }, (_, place) => html`<circle class=${place < busy ? "k-ok" : "k-skip"} cx=${6 + place * 11} cy="6" r=${place < busy ? 3.8 : 3.2} />`)}</svg>`;
}

/** A share as a bar, amber when little is left. */
function Meter({ used, all, text, label }) {
  const share = all > 0 ? Math.min(1, used / all) : 0;
  return html`<span class="gauge"><svg class="meter" viewBox="0 0 56 6" width="56" height="6" role="img" aria-label=${label}><rect class="bar-soft" width="56" height="6" rx="1" /><rect class=${share >= 0.9 ? "bar-late" : "bar-idle"} width=${share * 56} height="6" rx="1" /></svg><span>${text}</span></span>`;
}

export function Cpu({ worker }) {
  const { used, resources } = worker;
  if (isGone(worker)) return html`<span class="faint">–</span>`;
  const text = `${rate(used.cpu)} of ${rate(resources.cpu)}`;
  return html`<${Meter} used=${used.cpu} all=${resources.cpu} text=${text} label=${`CPU: ${text}`} />`;
}

/** Memory or storage: `field` is memory_mb or storage_mb. 0: the worker offers none, or does not say. */
export function Space({ worker, field, name }) {
  const { used, resources } = worker;
  const size = (value) => (value ? bytes(value * 2 ** 20) : "0");
  if (!resources[field] || isGone(worker)) return html`<span class="faint">–</span>`;
  const text = `${size(used[field])} of ${size(resources[field])}`;
  return html`<${Meter} used=${used[field]} all=${resources[field]} text=${text} label=${`${name}: ${text}`} />`;
}

/** The age of the last heartbeat, with marks where the next is due and where the worker is lost. */
export function Heartbeat({ worker }) {
  const age = Math.max(0, (now.value - ms(worker.heartbeat_at)) / 1000);
  const lost = worker.lease_seconds + 5;
  const x = (seconds) => 2 + (Math.min(seconds, lost * 1.5) / (lost * 1.5)) * 64;
  const bad = worker.status === "LOST" || age > lost;
  const late = !bad && age > 2 * worker.heartbeat_seconds;
  const text = relative(worker.heartbeat_at, now.value);
  return html`<span class="gauge" title=${utcText(worker.heartbeat_at)}><svg class="beat" viewBox="0 0 70 16" width="70" height="16" aria-hidden="true"><path class="base" d="M2 8H70" /><path class="tick" d=${`M2 5v6M${x(worker.heartbeat_seconds)} 5v6M${x(lost)} 5v6`} />
    <path class=${bad ? "stem fail" : late ? "stem late" : "stem"} d=${`M2 8H${x(age)}`} /><circle class=${bad ? "k-failf" : late ? "k-retry" : "k-ok"} cx=${x(age)} cy="8" r="3.600" /></svg><span class=${bad ? "t-fail" : ""}>${text}</span></span>`;
}

// One sentence about workers: what is wrong first, else how they are.

const MOST_NAMED = 3;

const silentFor = (worker) => wholeDuration(Math.max(0, nowMs() - ms(worker.heartbeat_at)));

export const isAlive = (worker) => worker.status === "ACTIVE" || worker.status === "DRAINING";

/** `holdUps`: those of GET /v1/overview without a worker. Messages of the API are shown as they are. */
export function fleetSentence(workers, holdUps) {
  const lost = workers.filter((each) => each.status === "LOST");
  const told = holdUps.map((each) => `${opened(each.message)}.`);
  if (lost.length === 1) told.push(`Worker ${lost[0].worker_id} is lost: no heartbeat for ${silentFor(lost[0])}.`);
  if (lost.length > 1)
    told.push(
      `${plural(lost.length, "worker")} are lost: ${listed([...lost.slice(0, MOST_NAMED).map((each) => each.worker_id), ...(lost.length > MOST_NAMED ? [`${count(lost.length - MOST_NAMED)} more`] : [])])}.`,
    );
  if (told.length) return told.join(" ");
  const alive = workers.filter(isAlive);
  if (!alive.length) return workers.length ? "No worker is alive." : "Pull workers that can run your jobs.";
  const places = alive.reduce((sum, each) => sum + each.resources.concurrency, 0);
  const busy = alive.reduce((sum, each) => sum + each.running.length, 0);
  return `${alive.length === 1 ? "The only worker is alive" : `All ${count(alive.length)} workers are alive`}, ${count(busy)} of ${plural(places, "place")} in use.`;
}

/** What one worker does now, in a sentence. */
export function workerSentence(worker) {
  const runs = plural(worker.running.length, "run");
  if (worker.status === "LOST")
    return `Lost: no heartbeat for ${silentFor(worker)}. ${worker.running.length ? `It had ${runs}, which ${worker.running.length === 1 ? "goes" : "go"} to another worker.` : "It had no runs."}`;
  if (worker.status === "STOPPED") return "It has shut down and takes no runs.";
  if (worker.status === "DRAINING") return `It is finishing ${runs} and takes no new ones.`;
  return worker.running.length
    ? `It has ${runs} in ${plural(worker.resources.concurrency, "place")}.`
    : `It is idle: ${plural(worker.resources.concurrency, "place")} free.`;
}
