// @ts-check
// The cards: throughput, lateness, queues and the coming hour.
import { html } from "../../lib/html.js";
import { count, percent, plural, rate } from "../../lib/format.js";
import { href, jobHref } from "../../lib/router.js";
import { clock, duration, moment, ms, now, wholeDuration } from "../../lib/time.js";
import { Bars } from "../../charts/bars.js";
import { AgeLine, Dot, TickLine } from "../../charts/dots.js";
import { Histogram } from "../../charts/histogram.js";
import { Series } from "../../charts/series.js";
import { Ago, Card, Priority } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";
import { Loading } from "../../components/states.js";
import { tickAge } from "../../shell/shell.js";

const legend = html`<span class="legend short"><span><svg viewBox="0 0 12 12" aria-hidden="true"><${Dot} status="FAILED" x=${6} y=${6} /></svg>failed</span><span><svg viewBox="0 0 12 12" aria-hidden="true"><${Dot} status="SUCCEEDED" retried x=${6} y=${6} /></svg>retried</span></span>`;

export function Throughput({ figures, range }) {
  if (!figures) return html`<${Card} title="Throughput"><${Loading} rows=${3} /><//>`;
  if (figures.error) return html`<${Card} title="Throughput"><p class="faint">${figures.error}</p><//>`;
  const values = figures.points.map((each) => each.value);
  const peak = figures.points.reduce((best, each) => (each.value > (best?.value ?? 0) ? each : best), null);
  const label = peak
    ? `Runs ended ${range.unit} over the last ${range.words}, between ${count(Math.min(...values))} and ${count(peak.value)}, highest at ${moment(peak.time, { seconds: false })}. ${count(figures.total.failed)} failed, ${plural(figures.total.retries, "retry", "retries")}.`
    : `No runs ended in the last ${range.words}.`;
  return html`<${Card} title="Throughput" hint=${`runs ended ${range.unit}`} right=${legend}><${Series} points=${figures.points} label=${label} unit="runs" long=${range.seconds > 90_000} />${!peak && html`<p class="faint">No runs in this time</p>`}<//>`;
}

export const Lateness = ({ figures }) =>
  html`<${Card} title="Lateness" hint="start after the fire time, log scale" className="c-hist">${figures?.error ? html`<p class="faint">${figures.error}</p>` : figures ? html`<${Histogram} lateness=${figures.lateness} bounds=${figures.bounds} />` : html`<${Loading} rows=${3} />`}<//>`;

/** The oldest first, then those with the most runs. */
const byNeed = (one, other) =>
  (other.oldest_age_seconds ?? 0) - (one.oldest_age_seconds ?? 0) || load(other) - load(one);
const load = ({ waiting, in_flight: inFlight }) => (waiting ?? 0) + (inFlight ?? 0);

/** Three queues, and up to six while runs wait in that many. */
export function Queues({ queues }) {
  const more = html`<a class="more" href=${href("/queues")}>All queues</a>`;
  if (!queues)
    return html`<${Card} title="Queues" right=${more}><p class="faint">The queues are unavailable right now.</p><//>`;
  const busy = [...queues].sort(byNeed);
  const shown = busy.slice(0, Math.max(3, Math.min(6, busy.filter((each) => each.waiting || each.error).length)));
  const age = (each) => (each.oldest_age_seconds == null ? "–" : duration(each.oldest_age_seconds * 1000));
  return html`<${Card} title="Queues" hint="all tenants; the dot shows how long the oldest run has waited; marks at 1 s, 1 min, 1 h" right=${more} flush>
    <table class="tbl qline"><caption class="vh">Queues, the oldest first</caption><thead><tr><th scope="col">Pool</th><th scope="col">Lane</th><th scope="col" class="num">Waiting</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Oldest</th><th scope="col" class="line"><span class="vh">Age of the oldest</span></th></tr></thead>
    <tbody>${shown.map(
      (
        each,
      ) => html`<tr><td><a class="name" href=${href("/queues", { pool: each.pool })}>${each.pool}</a></td><td>${each.priority ? html`<${Priority} value=${each.priority} />` : html`<span class="faint">all</span>`}</td><td class=${each.waiting ? "num" : "num zero"}><span class="big">${count(each.waiting)}</span></td><td class="num">${count(each.in_flight)}</td><td class="num">${age(each)}</td>
      <td class="line">${each.error ? html`<span class="t-fail">${each.error}</span>` : html`<${AgeLine} seconds=${each.oldest_age_seconds} label=${`The oldest run has waited ${age(each)}`} />`}</td></tr>`,
    )}</tbody></table><//>`;
}

/** A forecast moves fires that were not taken to the time of its answer. */
const isOverdue = (fire, { status }) => status === "late" && ms(fire.fire_time) <= now.value;

export function Coming({ data }) {
  const more = html`<a class="more" href=${href("/schedule")}>Schedule</a>`;
  if (!data.due)
    return html`<${Card} title="The next hour" right=${more}><p class="faint">The forecast is unavailable right now.</p><//>`;
  const points = data.due.map((each) => ({ time: each.time, value: each.runs }));
  const rate = data.limits?.per_second;
  const limit = rate
    ? { value: rate * 60, text: `limit of tenant ${data.tenant}: ${rate} a second`, short: `limit ${rate} a second` }
    : null;
  const peak = points.reduce((best, each) => (each.value > (best?.value ?? 0) ? each : best), null);
  const over = (each) => (limit && each.value > limit.value ? each.value - limit.value : 0);
  const peakText = (each) =>
    over(each)
      ? `holds ${count(each.value)}: ${count(over(each))} wait up to ${duration((over(each) / rate) * 1000)}`
      : `holds ${count(each.value)}`;
  const label = peak
    ? `Runs due in each of the coming ${points.length} minutes. ${clock(peak.time, { seconds: false })} holds ${count(peak.value)}${over(peak) ? `, more than the limit of ${count(limit.value)} a minute` : ""}.`
    : "No runs are due in the next hour.";
  return html`<${Card} title="The next hour" hint="runs due per minute" right=${more}><${Bars} points=${points} limit=${limit} label=${label} peakText=${peakText} unit="runs due" />
    ${data.status === "late" && html`<p class="below"><b class="t-fail">The scheduler is not ticking:</b> none of these will start until it does. The first minute includes the overdue runs.</p>`}
    ${data.next?.length ? html`<p class="nextline"><span class="faint">Next:</span> ${data.next.slice(0, 3).map((each) => html`<a href=${href(`/jobs/${each.job_id}`)}><b>${each.name ?? each.job_id}</b> ${isOverdue(each, data) ? html`<span class="t-fail">overdue</span>` : moment(each.fire_time)}</a>`)}</p>` : null}<//>`;
}

// The six figures at the top.

const OLD_SECONDS = 60;

export function Figures({ data, figures, range }) {
  return html`<dl class="card figs">${[throughput, succeeded, lateness, waiting, workers, tick].map((each) => each(data, figures, range))}</dl>`;
}

const Fig = ({ name, children, note, tone }) =>
  html`<div class="fig"><dt>${name}</dt><dd class=${`v ${tone ?? ""}`}>${children}</dd><dd class="n">${note ?? " "}</dd></div>`;
const unknown = (name) => html`<${Fig} name=${name} note="unavailable">–<//>`;

function throughput(_, figures, range) {
  if (!figures || figures.error) return unknown("Throughput");
  const [value, unit] = speed(figures.total.ended / range.seconds);
  return html`<${Fig} name="Throughput" note=${`${count(figures.total.ended)} in the last ${range.words}`}>${rate(value)}<small>${unit}</small><//>`;
}

/** A rate in the unit in which it is not a long fraction: [0.26, "a second"], [1.3, "a minute"]. */
function speed(perSecond) {
  if (perSecond >= 0.1 || perSecond === 0) return [perSecond, "a second"];
  return perSecond * 60 >= 0.5 ? [perSecond * 60, "a minute"] : [perSecond * 3600, "an hour"];
}

function succeeded(_, figures) {
  if (!figures || figures.error) return unknown("Succeeded");
  const { succeeded: good, failed, skipped } = figures.total;
  const note = html`${failed ? html`<a class="t-fail" href=${href("/dead-letters")}>${count(failed)} failed</a>` : "none failed"}, ${count(skipped)} skipped`;
  return html`<${Fig} name="Succeeded" note=${note}>${good + failed ? percent(good / (good + failed)) : "–"}<small>%</small><//>`;
}

function lateness(_, figures) {
  const late = figures?.lateness;
  if (!late || late.p50_ms == null) return html`<${Fig} name="Lateness, p50 and p99" note="no runs">–<//>`;
  const [half, most] = [duration(late.p50_ms), duration(late.p99_ms)].map((text) => text.split(/ (.*)/s));
  return html`<${Fig} name="Lateness, p50 and p99" note=${`latest ${duration(late.max_ms)}`}>${half[0]}<small>${half[1]}</small><span class="and">${most[0]}</span><small>${most[1]}</small><//>`;
}

/** Queues are shared, so an old one is red only if runs of the reader's own tenant are held up there. */
function waiting({ queues, hold_ups: holdUps }) {
  if (!queues) return unknown("Waiting, all tenants");
  const sum = (field) => queues.reduce((total, each) => total + (each[field] ?? 0), 0);
  const oldest = Math.max(0, ...queues.map((each) => each.oldest_age_seconds ?? 0));
  const text = duration(oldest * 1000, { units: 1 });
  const age = oldest
    ? html`oldest ${oldest >= OLD_SECONDS ? html`<a class=${holdUps?.some((each) => each.pool) ? "t-fail" : ""} href=${href("/queues")}>${text}</a>` : text}, `
    : "";
  return html`<${Fig} name="Waiting, all tenants" note=${html`${age}${count(sum("in_flight"))} in flight`}>${count(sum("waiting"))}<small>${sum("waiting") === 1 ? "run" : "runs"}</small><//>`;
}

function workers({ workers: fleet }) {
  if (!fleet) return unknown("Workers");
  const all = fleet.alive + fleet.silent;
  if (!all) return html`<${Fig} name="Workers" note="pull workers">0<small>registered</small><//>`;
  return html`<${Fig} name="Workers" note=${`${count(fleet.running)} of ${plural(fleet.concurrency, "place")} in use`} tone=${fleet.alive ? (fleet.silent ? "t-retry" : "") : "t-fail"}>${count(fleet.alive)}<small>of ${count(all)} alive</small><//>`;
}

function tick() {
  const age = tickAge();
  if (age === null) return html`<${Fig} name="Last tick" tone="t-fail" note="no tick yet">–<//>`;
  const [value, unit] = wholeDuration(age * 1000, { units: 1 }).split(/ (.*)/s);
  return html`<${Fig} name="Last tick" tone=${age >= 180 ? "t-fail" : ""} note=${html`<${TickLine} age=${age} wide />`}>${value}<small>${unit} ago</small><//>`;
}

// Failures and hold-ups: what needs eyes, each with the sentence that names its cause.

export function Causes({ data }) {
  const rows = [
    ...lateTick(data),
    ...(data.hold_ups ?? []).map(holdUp),
    ...(data.causes?.map(withRun(data.failures)) ?? single(data.failures)).map(cause),
  ];
  const known = data.causes || data.failures || data.hold_ups;
  const more = html`<a class="more" href=${href("/dead-letters", { by: "cause" })}>Dead letters</a>`;
  return html`<${Card} title="Failures and hold-ups" hint="by cause" right=${more} flush className="o-fail">
    ${rows.length ? html`<ul class="causes">${rows}</ul>` : html`<p class="pad faint">${known ? "Nothing failed, and nothing is held up." : "The failures are unavailable right now."}</p>`}<//>`;
}

/** The scheduler itself is late: nothing else explains what waits now. No page shows more, so it is not a link. */
function lateTick({ status, last_tick: last }) {
  if (status !== "late") return [];
  const text = last
    ? `no tick since ${moment(last)}: runs that were not sent ahead are waiting for the next one.`
    : "there has been no tick yet: runs that were not sent ahead are waiting for the first one.";
  return [
    html`<li><div class="row"><${Mark} status="failed" /><span class="who"><b>Ticks are late</b></span>${last ? html`<${Ago} at=${last} />` : html`<span></span>`}<span class="cause"><${Said} text=${`${text} Run \`onthedot doctor\` to find out why.`} /></span></div></li>`,
  ];
}

const single = (failures) =>
  (failures ?? []).map((each) => ({
    cause: each.error,
    count: 1,
    latest: each.finished_at,
    job_id: each.job_id,
    execution_id: each.execution_id,
    name: each.name,
  }));

/** A cause has no run. The latest failures have it, if the cause is among them. */
const withRun = (failures) => (each) => ({
  ...each,
  execution_id: failures?.find((one) => one.job_id === each.job_id && one.finished_at === each.latest)?.execution_id,
});

/** The job of the latest run says why, and leads to the others. */
const to = (each) =>
  each.job_id
    ? jobHref(each.job_id, { run: each.execution_id })
    : href("/dead-letters", { by: "cause", cause: each.cause });

function cause(each) {
  const fine = each.successes_since ? `; ${count(each.successes_since)} succeeded since` : "";
  return html`<li><a href=${to(each)}><${Mark} status="failed" /><span class="who"><b>${each.name ?? each.job_id ?? "–"}</b>${each.count > 1 && html`<span class="times">×${count(each.count)}</span>`}</span><${Ago} at=${each.latest} /><span class="cause" title=${plainly(each.cause)}><${Said} text=${each.cause} />${fine}</span></a></li>`;
}

function holdUp(each) {
  const place = each.job_id
    ? jobHref(each.job_id)
    : ["no_worker", "no_room"].includes(each.code)
      ? href("/workers")
      : each.gate
        ? href(`/gates/${encodeURIComponent(each.gate)}`)
        : each.pool
          ? href("/queues", { pool: each.pool })
          : href("/gates");
  const since = each.since
    ? `waiting ${duration(Math.max(0, Math.floor((now.value - ms(each.since)) / 1000) * 1000), { units: 1 })}`
    : "waiting";
  return html`<li><a href=${place}><${Mark} status="waiting" /><span class="who"><b>${each.name ?? each.gate ?? each.pool ?? "Limits"}</b>${each.runs > 1 && html`<span class="times">×${count(each.runs)}</span>`}</span><span class="when">${since}</span><span class="cause" title=${plainly(each.message)}><${Said} text=${each.message} /></span></a></li>`;
}
