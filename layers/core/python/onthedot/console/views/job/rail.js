// @ts-check
// The cards next to the runs: next fires, run now, definition and changes.
import { html, useEffect, useState } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { plural, word } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { Acts, overview } from "../../lib/session.js";
import { duration, moment, ms, now, nowMs, relative, zone as zoneOfReader } from "../../lib/time.js";
import { listed, scheduleWords, targetWords } from "../../lib/words.js";
import { Button, Card, CopyAs, Time } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Failed, Loading } from "../../components/states.js";
import { FireTable, NextNote } from "../new/fires.js";
import { thresholdOf } from "../schedule/herds.js";

const SHOWN = 5;

export function Fires({ job, preview, herd }) {
  const { fires, error, loading } = preview;
  const zone = job.timezone ?? (job.every ? zoneOfReader.value : "UTC");
  const ended = !job.next_fire_time && job.status !== "PAUSED";
  if (job.on_event)
    return html`<${Card} title="On an event" className="o-fires"><pre class="code" tabindex="0">${JSON.stringify(job.on_event, null, 2)}</pre><//>`;
  if (!job.cron && !job.every)
    return html`<${Card} title=${job.dependencies.length ? "After its parents" : scheduleWords({ at: job.fire_time })} className="o-fires"><p class="muted">It runs once.</p><//>`;
  return html`<${Card} title=${scheduleWords(job)} right=${html`<code class="mono" title=${job.cron}>${job.cron ?? `every ${job.every} s`}</code>`} flush className="o-fires"><${Overdue} at=${overdueOf(job)} />
    ${
      ended
        ? html`<p class="pad muted">The schedule has ended: there are no more fires.</p>`
        : error
          ? html`<div class="pad"><${Failed} error=${error} /></div>`
          : loading && !fires.length
            ? html`<${Loading} rows=${3} label="Loading the next fires" />`
            : !fires.length
              ? html`<p class="pad t-hold">${job.status === "PAUSED" ? "Paused: nothing fires until it is resumed." : "No upcoming fires."}</p>`
              : html`${job.status === "PAUSED" && html`<p class="pad t-hold">Paused: none of these fires until it is resumed.</p>`}<${FireTable} fires=${fires.slice(0, SHOWN)} zone=${zone} /><${Herd} minute=${herd} /><${NextNote} fires=${fires} shown=${SHOWN} zone=${zone} />`
    }<//>`;
}

/** Run once with a payload of one's own. */
export function RunNow({ job, onRun }) {
  const own = job.payload === null || job.payload === undefined ? "" : JSON.stringify(job.payload, null, 2);
  const [text, setText] = useState(own);
  useEffect(() => setText(own), [job.version]);
  let [payload, problem] = [undefined, null];
  try {
    payload = text.trim() === "" ? null : JSON.parse(text);
  } catch (error) {
    problem = `payload is not JSON: ${error.message}`;
  }
  const same = text === own;
  const call = COPY.run(job.job_id, same || problem ? undefined : payload);
  return html`<${Acts}><${Card} title="Run now" hint="with this payload, once" className="o-now"><div class="field"><label class="vh" for="run-payload">Payload</label>
    <textarea class="area" id="run-payload" rows=${Math.min(8, Math.max(2, text.split("\n").length))} spellcheck=${false} value=${text} aria-invalid=${problem ? "true" : null} aria-describedby=${problem ? "run-payload-e" : null} onInput=${(event) => setText(event.target.value)}></textarea>
    ${problem && html`<p class="err" id="run-payload-e"><${Mark} status="failed" tone="" /><span>${problem}</span></p>`}</div>
    ${job.payload_url && html`<p class="below muted">The payload is large: <a class="link" href=${job.payload_url} rel="noreferrer">read it</a>. Leave the field empty to send null.</p>`}
    <div class="below"><${CopyAs} calls=${call} /></div><div class="below end"><${Button} small icon="play" disabled=${Boolean(problem)} onClick=${() => onRun(same ? undefined : payload)}>Run once with this payload<//></div><//><//>`;
}

function retryWords({ max_retries: most, backoff_seconds: first, factor, max_backoff_seconds: longest, jitter }) {
  if (!most) return "none";
  const waits = Array.from({ length: Math.min(most, 4) }, (_, place) => Math.min(longest, first * factor ** place));
  return `${most === 1 ? "once" : `${most} times`}: ${waits.join(", ")}${most > 4 ? " …" : ""} s${jitter ? " with jitter" : ""}`;
}

const MISFIRES = { run_latest: "run the latest", run_all: "run all", skip: "skip" };

export function Definition({ job, onEdit }) {
  const needs = [
    ...job.requirements.capabilities,
    job.requirements.cpu ? `${job.requirements.cpu} CPU` : "",
    job.requirements.memory_mb ? `${job.requirements.memory_mb} MB memory` : "",
    job.requirements.storage_mb ? `${job.requirements.storage_mb} MB storage` : "",
  ].filter(Boolean);
  const rows = [
    ["Target", html`<code>${targetWords(job.target)}</code>`],
    ["Description", job.description],
    ["Priority", `${job.priority}, pool ${job.pool}`],
    ["Retry", retryWords(job.retry)],
    ["Timeout", `${duration(job.timeout_seconds * 1000)} an attempt`],
    [
      "Misfire",
      job.misfire &&
        `${MISFIRES[job.misfire.policy] ?? job.misfire.policy}, grace ${duration(job.misfire.grace_seconds * 1000)}`,
    ],
    ["Overlap", job.overlap],
    ["Clock change", job.dst && `gap: ${job.dst.gap.replace("_", " ")}; overlap: ${job.dst.overlap}`],
    ["Jitter", job.jitter_seconds ? `up to ${job.jitter_seconds} s` : null],
    ["From", job.start_at && html`<${Time} at=${job.start_at} />`],
    ["Until", job.end_at && html`<${Time} at=${job.end_at} />`],
    ["Runs", job.runs === undefined ? null : `${job.runs}${job.max_runs ? ` of ${job.max_runs}` : ""}`],
    [
      "Gates",
      job.gates.length
        ? job.gates.map(
            (gate, place) =>
              html`${place ? ", " : ""}<a class="link" href=${href(`/gates/${encodeURIComponent(gate)}`)}>${gate}</a>`,
          )
        : null,
    ],
    ["Start within", job.start_within_seconds === null ? null : duration(job.start_within_seconds * 1000)],
    ["Needs", needs.length ? listed(needs) : null],
    ["Parent failure", job.on_parent_failure],
    ["Created", html`<${Time} at=${job.created_at} />`],
    ["Trace", html`<code>${job.trace_id}</code>`],
  ];
  return html`<${Card} title="Definition" hint=${`version ${job.version}`} right=${onEdit && html`<${Acts}><button type="button" class="linkish" aria-label="Edit the definition" onClick=${onEdit}>Edit</button><//>`} className="o-def"><dl class="kv">${rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl><//>`;
}

const CHANGES = {
  create: "created it",
  change: "changed it",
  pause: "paused it",
  resume: "resumed it",
  cancel: "cancelled it",
  run: "ran it",
};

export function Changes({ job }) {
  if (!job.changes?.length) return null;
  return html`<${Card} title="Changes" hint="who, when, which fields" className="o-chg"><ol class="changes">${job.changes.map((each) => html`<li><span>${each.by ? html`<b>${each.by}</b> ${CHANGES[each.action] ?? each.action}` : word(CHANGES[each.action]?.replace(" it", "") ?? each.action)}${each.fields.length ? html`: <code>${each.fields.join(", ")}</code>` : null}</span><span class="faint nowrap">v${each.version} · <${Time} at=${each.at} seconds=${false} /></span></li>`)}</ol><//>`;
}

// Whether the next fire of a job is in a herd minute. The same counts as in the view Schedule say so.

const MINUTE = 60_000;
const MOST_MINUTES = 1440;

/** The minute of the next fire: {time, runs}, when it holds more than the threshold of the Schedule; else null. The next hour is in the overview; a later minute takes one request. */
export function useHerd(job) {
  const start =
    job?.cron && job.status !== "PAUSED" && job.next_fire_time
      ? Math.floor(ms(job.next_fire_time) / MINUTE) * MINUTE
      : null;
  const ahead = start === null ? -1 : Math.floor((start - nowMs()) / MINUTE) + 2;
  const near = overview.value?.due;
  const isFar = near && start > ms(near.at(-1)?.time) && ahead <= MOST_MINUTES;
  const far = usePoll(
    isFar ? "forecast" : null,
    () => ({ minutes: Math.max(1, Math.floor((start - nowMs()) / MINUTE) + 2) }),
    { every: 0, key: `herd ${start}` },
  );
  const minutes = (isFar ? far.data?.minutes : near) ?? [];
  const here = minutes.find((each) => ms(each.time) === start);
  return here && here.runs > thresholdOf(minutes, overview.value?.limits?.per_second).value ? here : null;
}

const Herd = ({ minute }) =>
  minute &&
  html`<p class="fine herd-note"><b class="t-retry">A herd:</b> ${plural(minute.runs, "run")} ${minute.runs === 1 ? "is" : "are"} due in the same minute as the next fire. <a class="link" href=${href("/schedule", { at: minute.time })}>Schedule at ${moment(minute.time, { seconds: false })}</a></p>`;

// A fire that is due and was not taken: the scheduler takes it with its next tick.

/** A fire is taken within moments, and the page hears of it some seconds later. */
const GRACE_MS = 10_000;

/** The time of the fire that waiting for the scheduler, or null. */
export const overdueOf = (job) =>
  (job?.cron || job?.every) && job.status !== "PAUSED" && ms(job.next_fire_time) < now.value - GRACE_MS
    ? job.next_fire_time
    : null;

/** The time after which fires of a job come, in ms. */
export const comesAfter = (job) => (overdueOf(job) ? now.value : now.value - GRACE_MS);

export const WAITS = "waiting for the scheduler";

const Overdue = ({ at }) =>
  at &&
  html`<p class="pad"><b class="t-fail">Due ${relative(at, now.value)}</b>, at <${Time} at=${at} />: ${WAITS}.</p>`;
