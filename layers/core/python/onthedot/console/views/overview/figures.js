// The six figures at the top.
import { html } from "../../lib/html.js";
import { count, percent, plural, rate } from "../../lib/format.js";
import { href } from "../../lib/router.js";
import { duration, wholeDuration } from "../../lib/time.js";
import { tickAge } from "../../shell/shell.js";
import { TickLine } from "../../charts/dots.js";

const OLD_SECONDS = 60;

export function Figures({ data, figures, range }) {
  return html`<dl class="card figs">${[throughput, succeeded, lateness, waiting, workers, tick].map((each) => each(data, figures, range))}</dl>`;
}

const Fig = ({ name, children, note, tone }) => html`<div class="fig"><dt>${name}</dt><dd class=${`v ${tone ?? ""}`}>${children}</dd><dd class="n">${note ?? " "}</dd></div>`;
const unknown = (name) => html`<${Fig} name=${name} note="not known now">–<//>`;

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
  const age = oldest ? html`oldest ${oldest >= OLD_SECONDS ? html`<a class=${holdUps?.some((each) => each.pool) ? "t-fail" : ""} href=${href("/queues")}>${text}</a>` : text}, ` : "";
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
