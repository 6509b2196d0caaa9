// @ts-check
// One run: its attempts on a line and side by side, its progress while it runs, and Redrive when it failed.
import { cls, html } from "../../lib/html.js";
import { percent, plural, word } from "../../lib/format.js";
import { href } from "../../lib/router.js";
import { Acts } from "../../lib/session.js";
import { isOver, isRange } from "../../lib/states.js";
import { clock, duration, exact, ms, now, wholeDuration } from "../../lib/time.js";
import { Figure } from "../../charts/figure.js";
import { Button, Card, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said } from "../../components/said.js";

const MOST_SHOWN = 8;
const statusOf = (outcome) =>
  ({ lost: "FAILED", timed_out: "FAILED" })[String(outcome).toLowerCase()] ??
  String(outcome ?? "RUNNING").toUpperCase();
const endOf = (attempt) => (attempt.ended_at ? ms(attempt.ended_at) : now.value);

/** The attempts on a line from the fire time to the end. */
function Line({ run, attempts }) {
  const from = ms(run.fire_time);
  const to = Math.max(...attempts.map(endOf), run.next_fire_time ? ms(run.next_fire_time) : 0, from + 1);
  const span = to - from;
  const label = `${plural(attempts.length, "attempt")} on a line of ${duration(span)}: ${attempts.map((each) => `at ${duration(ms(each.started_at) - from)} ${word(each.outcome).toLowerCase()}`).join(", ")}.`;
  const bar = { FAILED: "bar-fail", SUCCEEDED: "bar-ok", RUNNING: "bar-run" };
  return html`<${Figure} className="attline" label=${label} height=${62} draw=${(width) => {
    const x = (time) => 4 + ((time - from) / span) * (width - 12);
    let last = -Infinity;
    return html`<path class="base" d=${`M4 24H${width - 4}`} />${[0, 0.25, 0.5, 0.75, 1].filter((_, place) => width > 420 || place % 2 === 0).map((part) => html`<path class="tick" d=${`M${x(from + part * span)} 36v4`} /><text class=${part === 0 ? "" : part === 1 ? "e" : "c"} x=${x(from + part * span)} y="54">${part === 0 ? clock(from) : `+${duration(part * span)}`}</text>`)}
      ${attempts.map((each) => {
        const start = x(ms(each.started_at));
        const free = start - last > 14;
        if (free) last = start;
        return html`<rect class=${bar[statusOf(each.outcome)] ?? "bar-idle"} x=${start} y="21" width=${Math.max(5, x(endOf(each)) - start)} height="6"><title>${`attempt ${each.attempt}: ${word(each.outcome)}, took ${duration(endOf(each) - ms(each.started_at))}`}</title></rect>${free && html`<text class="strong" x=${start} y="14">${each.attempt}</text>`}`;
      })}`;
  }} />`;
}

/** @type {[string, (attempt: any, run: any) => string][]} */
const ROWS = [
  ["Worker", (each) => each.worker ?? "–"],
  ["Started", (each) => `${clock(each.started_at)}.${String(ms(each.started_at) % 1000).padStart(3, "0")}`],
  ["Delay", (each, run) => duration(ms(each.started_at) - ms(run.fire_time))],
  ["Took", (each) => (each.ended_at ? duration(ms(each.ended_at) - ms(each.started_at)) : "running")],
  ["Error class", (each) => each.error_class ?? "–"],
  ["Error", (each) => each.error ?? "–"],
];
const COMPARED = ["Worker", "Error class", "Error"];

const AttemptPill = ({ each }) =>
  html`<${Pill} status=${statusOf(each.outcome)} text=${word(each.outcome ?? "running")} />`;

function Attempts({ run, attempts }) {
  const differs = (name, read, place) =>
    COMPARED.includes(name) && place > 0 && read(attempts[place], run) !== read(attempts[place - 1], run);
  return html`<div class="wide scroll" tabindex="0" role="region" aria-label="Attempts side by side"><table class="tbl att"><caption class="vh">Attempts side by side</caption>
      <thead><tr><th class="a0" scope="col"><span class="vh">Field</span></th>${attempts.map((each) => html`<th scope="col"><span class="no">${each.attempt}</span><${AttemptPill} each=${each} /></th>`)}</tr></thead>
      <tbody>${ROWS.map(([name, read]) => html`<tr><th scope="row">${name}</th>${attempts.map((each, place) => html`<td class=${cls("said", differs(name, read, place) && "diff")}>${read(each, run)}</td>`)}</tr>`)}</tbody></table></div>
    <ol class="narrow blocks" aria-label="Attempts">${attempts.map((each) => html`<li><p><strong>Attempt ${each.attempt}</strong> <${AttemptPill} each=${each} /></p><dl class="kv">${ROWS.map(([name, read]) => html`<dt>${name}</dt><dd>${read(each, run)}</dd>`)}</dl></li>`)}</ol>`;
}

/** How far a running attempt is: its report, the time it takes already, and its deadline. */
function Progress({ run }) {
  const started = run.attempts.at(-1)?.started_at ?? run.started_at;
  const { progress, deadline } = run;
  const known = progress?.fraction != null;
  return html`<div class="running">${known && html`<progress max="1" value=${progress.fraction} aria-label="Progress of the run"></progress>`}
    <p>${known && html`<strong>${percent(progress.fraction)} %</strong>`} ${progress?.text} ${started && html`<span class="muted">running for ${wholeDuration(Math.max(0, now.value - ms(started)))}</span>`}
      ${deadline && html`<span class="muted">, ${ms(deadline) > now.value ? html`times out in ${wholeDuration(ms(deadline) - now.value)}` : "past its timeout"} (<${Time} at=${deadline} />)</span>`}</p></div>`;
}

export function Run({ run, onRedrive }) {
  if (!run) return null;
  if (isRange(run))
    return html`<${Card} title=${`${plural(run.count, "fire time")} skipped`} className="o-att"><p>From <${Time} at=${run.fire_time} /> to <${Time} at=${run.until} />: <${Said} text=${run.reason ?? "skipped"} />.</p><//>`;
  const all = run.attempts ?? [];
  const attempts = all.length > MOST_SHOWN ? [all[0], ...all.slice(1 - MOST_SHOWN)] : all;
  const whole = run.finished_at ? `${duration(ms(run.finished_at) - ms(run.fire_time))} in all` : null;
  const late = run.lateness_ms == null ? null : `${duration(run.lateness_ms)} late`;
  const right = html`<span class="wide-i">${[late, whole].filter(Boolean).join(", ")}</span>${run.status === "FAILED" && html`<${Acts}><${Button} small icon="redo" onClick=${() => onRedrive(run)}>Redrive<//><//>`}`;
  return html`<${Card} title=${`Run of ${exact(run.fire_time)}`} hint=${html`<${Pill} status=${run.status} />${run.trigger && run.trigger !== "schedule" ? html` <span class="faint">${run.trigger}</span>` : null}`} right=${right} className="o-att">
    ${run.status === "RUNNING" && html`<${Progress} run=${run} />`}
    ${attempts.length ? html`<${Line} run=${run} attempts=${attempts} /><${Attempts} run=${run} attempts=${attempts} />` : html`<p class="muted">${isOver(run.status) ? "No attempts were made." : "No attempts yet."}</p>`}
    ${all.length > MOST_SHOWN && html`<p class="faint">Attempts 2 to ${all.length - MOST_SHOWN + 1} are not shown.</p>`}
    ${run.reason && html`<p class="below"><${Said} text=${run.reason} /></p>`}
    ${run.result && html`<div class="below"><h3>Result</h3><pre class="code result" tabindex="0">${run.result}</pre></div>`}${run.result_url && html`<p class="below"><a class="link" href=${run.result_url} rel="noreferrer">Full result</a></p>`}
    ${run.status === "FAILED" && html`<p class="below"><a class="link" href=${href("/dead-letters", { job_id: run.job_id })}>Dead letters of this job</a></p>`}<//>`;
}
