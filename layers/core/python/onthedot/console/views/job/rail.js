// The cards beside the runs: next fires, run now, definition and changes.
import { html, useEffect, useState } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { listed, scheduleWords, targetWords } from "../../lib/words.js";
import { word } from "../../lib/format.js";
import { duration, zone as zoneOfReader } from "../../lib/time.js";
import { Acts } from "../../lib/roles.js";
import { href } from "../../lib/router.js";
import { Button, Card, CopyAs, Time } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Failed, Loading } from "../../components/states.js";
import { FireTable, NextNote } from "../new/fires.js";
import { Herd } from "./herd.js";
import { Overdue, overdueOf } from "./overdue.js";

export const SHOWN = 5;

export function Fires({ job, preview, herd }) {
  const { fires, error, loading } = preview;
  const zone = job.timezone ?? (job.every ? zoneOfReader.value : "UTC");
  const ended = !job.next_fire_time && job.status !== "PAUSED";
  if (job.on_event) return html`<${Card} title="On an event" className="o-fires"><pre class="code" tabindex="0">${JSON.stringify(job.on_event, null, 2)}</pre><//>`;
  if (!job.cron && !job.every) return html`<${Card} title=${job.dependencies.length ? "After its parents" : scheduleWords({ at: job.fire_time })} className="o-fires"><p class="muted">It runs once.</p><//>`;
  return html`<${Card} title=${scheduleWords(job)} right=${html`<code class="mono" title=${job.cron}>${job.cron ?? `every ${job.every} s`}</code>`} flush className="o-fires"><${Overdue} at=${overdueOf(job)} />
    ${ended ? html`<p class="pad muted">The schedule has no more fires.</p>` : error ? html`<div class="pad"><${Failed} error=${error} /></div>` : loading && !fires.length ? html`<${Loading} rows=${3} label="Loading the next fires" />`
      : !fires.length ? html`<p class="pad t-hold">${job.status === "PAUSED" ? "Paused: nothing fires until it is resumed." : "No fire is known."}</p>`
        : html`${job.status === "PAUSED" && html`<p class="pad t-hold">Paused: none of these fires until it is resumed.</p>`}<${FireTable} fires=${fires.slice(0, SHOWN)} zone=${zone} /><${Herd} minute=${herd} /><${NextNote} fires=${fires} shown=${SHOWN} zone=${zone} />`}<//>`;
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
  const forms = COPY.run(job.job_id, same || problem ? undefined : payload);
  return html`<${Acts}><${Card} title="Run now" hint="with this payload, once" className="o-now"><div class="field"><label class="vh" for="run-payload">Payload</label>
    <textarea class="area" id="run-payload" rows=${Math.min(8, Math.max(2, text.split("\n").length))} spellcheck=${false} value=${text} aria-invalid=${problem ? "true" : null} aria-describedby=${problem ? "run-payload-e" : null} onInput=${(event) => setText(event.target.value)}></textarea>
    ${problem && html`<p class="err" id="run-payload-e"><${Mark} status="failed" tone="" /><span>${problem}</span></p>`}</div>
    ${job.payload_url && html`<p class="below muted">The payload is large: <a class="link" href=${job.payload_url} rel="noreferrer">read it</a>. A run with an empty field here gets null.</p>`}
    <div class="below"><${CopyAs} forms=${forms} /></div><div class="below end"><${Button} small icon="play" disabled=${Boolean(problem)} onClick=${() => onRun(same ? undefined : payload)}>Run once with this payload<//></div><//><//>`;
}

function retryWords({ max_retries: most, backoff_seconds: first, factor, max_backoff_seconds: longest, jitter }) {
  if (!most) return "none";
  const waits = Array.from({ length: Math.min(most, 4) }, (_, place) => Math.min(longest, first * factor ** place));
  return `${most === 1 ? "once" : `${most} times`}: ${waits.join(", ")}${most > 4 ? " …" : ""} s${jitter ? " with jitter" : ""}`;
}

const MISFIRES = { run_latest: "run the latest", run_all: "run all", skip: "skip" };

export function Definition({ job, onEdit }) {
  const needs = [...job.requirements.capabilities, job.requirements.cpu ? `${job.requirements.cpu} CPU` : "", job.requirements.memory_mb ? `${job.requirements.memory_mb} MB memory` : "", job.requirements.storage_mb ? `${job.requirements.storage_mb} MB storage` : ""].filter(Boolean);
  const rows = [
    ["Target", html`<code>${targetWords(job.target)}</code>`], ["Description", job.description], ["Priority", `${job.priority}, pool ${job.pool}`], ["Retry", retryWords(job.retry)], ["Time-out", `${duration(job.timeout_seconds * 1000)} an attempt`],
    ["Misfire", job.misfire && `${MISFIRES[job.misfire.policy] ?? job.misfire.policy}, grace ${duration(job.misfire.grace_seconds * 1000)}`], ["Overlap", job.overlap], ["Clock change", job.dst && `gap: ${job.dst.gap.replace("_", " ")}; overlap: ${job.dst.overlap}`],
    ["Jitter", job.jitter_seconds ? `up to ${job.jitter_seconds} s` : null], ["From", job.start_at && html`<${Time} at=${job.start_at} />`], ["Until", job.end_at && html`<${Time} at=${job.end_at} />`], ["Runs", job.runs === undefined ? null : `${job.runs}${job.max_runs ? ` of ${job.max_runs}` : ""}`],
    ["Gates", job.gates.length ? job.gates.map((gate, place) => html`${place ? ", " : ""}<a class="link" href=${href(`/gates/${encodeURIComponent(gate)}`)}>${gate}</a>`) : null], ["Start within", job.start_within_seconds === null ? null : duration(job.start_within_seconds * 1000)],
    ["Needs", needs.length ? listed(needs) : null], ["Parent failure", job.on_parent_failure], ["Created", html`<${Time} at=${job.created_at} />`], ["Trace", html`<code>${job.trace_id}</code>`],
  ];
  return html`<${Card} title="Definition" hint=${`version ${job.version}`} right=${onEdit && html`<${Acts}><button type="button" class="linkish" aria-label="Edit the definition" onClick=${onEdit}>Edit</button><//>`} className="o-def"><dl class="kv">${rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl><//>`;
}

const CHANGES = { create: "created it", change: "changed it", pause: "paused it", resume: "resumed it", cancel: "cancelled it", run: "ran it" };

export function Changes({ job }) {
  if (!job.changes?.length) return null;
  return html`<${Card} title="Changes" hint="who, when, which fields" className="o-chg"><ol class="changes">${job.changes.map((each) => html`<li><span>${each.by ? html`<b>${each.by}</b> ${CHANGES[each.action] ?? each.action}` : word(CHANGES[each.action]?.replace(" it", "") ?? each.action)}${each.fields.length ? html`: <code>${each.fields.join(", ")}</code>` : null}</span><span class="faint nowrap">v${each.version} · <${Time} at=${each.at} seconds=${false} /></span></li>`)}</ol><//>`;
}
