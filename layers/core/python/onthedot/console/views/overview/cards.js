// The cards: throughput, lateness, queues and the coming hour.
import { html } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { href } from "../../lib/router.js";
import { clock, duration, moment, ms, now } from "../../lib/time.js";
import { Bars } from "../../charts/bars.js";
import { AgeLine, Dot } from "../../charts/dots.js";
import { Histogram } from "../../charts/histogram.js";
import { Series } from "../../charts/series.js";
import { Card, Priority } from "../../components/bits.js";
import { Loading } from "../../components/states.js";

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

export const Lateness = ({ figures }) => html`<${Card} title="Lateness" hint="start after the fire time, log scale" className="c-hist">${figures?.error ? html`<p class="faint">${figures.error}</p>` : figures ? html`<${Histogram} lateness=${figures.lateness} bounds=${figures.bounds} />` : html`<${Loading} rows=${3} />`}<//>`;

/** The oldest first, then those with the most runs. */
const byNeed = (one, other) => (other.oldest_age_seconds ?? 0) - (one.oldest_age_seconds ?? 0) || load(other) - load(one);
const load = ({ waiting, in_flight: inFlight }) => (waiting ?? 0) + (inFlight ?? 0);

/** Three queues, and up to six while runs wait in that many. */
export function Queues({ queues }) {
  const more = html`<a class="more" href=${href("/queues")}>All queues</a>`;
  if (!queues) return html`<${Card} title="Queues" right=${more}><p class="faint">The queues cannot be read now.</p><//>`;
  const busy = [...queues].sort(byNeed);
  const shown = busy.slice(0, Math.max(3, Math.min(6, busy.filter((each) => each.waiting || each.error).length)));
  const age = (each) => (each.oldest_age_seconds == null ? "–" : duration(each.oldest_age_seconds * 1000));
  return html`<${Card} title="Queues" hint="of all tenants; age of the oldest run that waits, as a distance; marks at 1 s, 1 min, 1 h" right=${more} flush>
    <table class="tbl qline"><caption class="vh">Queues, the oldest first</caption><thead><tr><th scope="col">Pool</th><th scope="col">Lane</th><th scope="col" class="num">Waiting</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Oldest</th><th scope="col" class="line"><span class="vh">Age of the oldest</span></th></tr></thead>
    <tbody>${shown.map((each) => html`<tr><td><a class="name" href=${href("/queues", { pool: each.pool })}>${each.pool}</a></td><td>${each.priority ? html`<${Priority} value=${each.priority} />` : html`<span class="faint">all</span>`}</td><td class=${each.waiting ? "num" : "num zero"}><span class="big">${count(each.waiting)}</span></td><td class="num">${count(each.in_flight)}</td><td class="num">${age(each)}</td>
      <td class="line">${each.error ? html`<span class="t-fail">${each.error}</span>` : html`<${AgeLine} seconds=${each.oldest_age_seconds} label=${`Oldest run waits ${age(each)}`} />`}</td></tr>`)}</tbody></table><//>`;
}

/** A forecast moves fires that were not taken to the time of its answer. */
const isOverdue = (fire, { status }) => status === "late" && ms(fire.fire_time) <= now.value;

export function Coming({ data }) {
  const more = html`<a class="more" href=${href("/schedule")}>Schedule</a>`;
  if (!data.due) return html`<${Card} title="The coming hour" right=${more}><p class="faint">The forecast cannot be read now.</p><//>`;
  const points = data.due.map((each) => ({ time: each.time, value: each.runs }));
  const rate = data.limits?.per_second;
  const limit = rate ? { value: rate * 60, text: `limit of tenant ${data.tenant}: ${rate} a second`, short: `limit ${rate} a second` } : null;
  const peak = points.reduce((best, each) => (each.value > (best?.value ?? 0) ? each : best), null);
  const over = (each) => (limit && each.value > limit.value ? each.value - limit.value : 0);
  const peakText = (each) => (over(each) ? `holds ${count(each.value)}: ${count(over(each))} wait up to ${duration((over(each) / rate) * 1000)}` : `holds ${count(each.value)}`);
  const label = peak ? `Runs due in each of the coming ${points.length} minutes. ${clock(peak.time, { seconds: false })} holds ${count(peak.value)}${over(peak) ? `, more than the limit of ${count(limit.value)} a minute` : ""}.` : "No runs are due in the coming hour.";
  return html`<${Card} title="The coming hour" hint="runs due a minute" right=${more}><${Bars} points=${points} limit=${limit} label=${label} peakText=${peakText} unit="runs due" />
    ${data.status === "late" && html`<p class="below"><b class="t-fail">The scheduler does not tick:</b> none of these starts until it does. The first minute has the overdue ones.</p>`}
    ${data.next?.length ? html`<p class="nextline"><span class="faint">Next:</span> ${data.next.slice(0, 3).map((each) => html`<a href=${href(`/jobs/${each.job_id}`)}><b>${each.name ?? each.job_id}</b> ${isOverdue(each, data) ? html`<span class="t-fail">overdue</span>` : moment(each.fire_time)}</a>`)}</p>` : null}<//>`;
}
