// Dots on a time line: outcomes in a row, lanes of dots, and runs with their lateness as height.
import { html } from "../lib/html.js";
import { plural, word } from "../lib/format.js";
import { clock, duration, moment, ms, utcText } from "../lib/time.js";
import { Figure } from "./figure.js";

/** The SVG of one run at (x, y): status SUCCEEDED, FAILED, SKIPPED …; `retried` makes a success amber; "RETRYING" is hollow and amber, "COMING" hollow and dashed, "OVERDUE" hollow and red. */
export function Dot({ status, x, y, r = 3, retried, title }) {
  const told = title && html`<title>${title}</title>`;
  if (status === "FAILED") return html`<g>${told}<path class="k-fail" d=${`M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} /></g>`;
  if (status === "CANCELLED" || status === "DELETED") return html`<g>${told}<circle class="k-skip" cx=${x} cy=${y} r=${r} /><path class="k-strike" d=${`M${x - r} ${y + r}l${2 * r} ${-2 * r}`} /></g>`;
  if (status === "RUNNING" || status === "DISPATCHED") return html`<g>${told}<circle class="k-ring" cx=${x} cy=${y} r=${r + 1} /><circle class="k-run" cx=${x} cy=${y} r=${r / 2} /></g>`;
  if (status === "SKIPPED") return html`<g>${told}<circle class="k-skip" cx=${x} cy=${y} r=${r} /><path class="k-strike" d=${`M${x - r} ${y}h${2 * r}`} /></g>`;
  const known = { SUCCEEDED: retried ? "k-retry" : "k-ok", RETRYING: "k-again", COMING: "k-nexto", WAITING: "k-hold", PAUSED: "k-hold", OVERDUE: "k-due" };
  return html`<circle class=${known[status] ?? "k-next"} cx=${x} cy=${y} r=${r}>${told}</circle>`;
}

/** The latest outcomes as a strip of 12, oldest at the left. `outcomes`: statuses, the latest first, as in GET /v1/jobs; `none`: the words when there are none. */
export function OutcomeStrip({ outcomes = [], size = 12, none = "no run yet" }) {
  if (!outcomes.length) return html`<span class="faint">${none}</span>`;
  const shown = outcomes.slice(0, size).toReversed();
  const counts = Object.entries(Object.groupBy ? Object.groupBy(shown, (each) => each) : {}).map(([status, list]) => `${list.length} ${word(status).toLowerCase()}`);
  const label = `The last ${plural(shown.length, "run")}: ${counts.join(", ") || shown.map(word).join(", ")}; latest ${word(shown.at(-1)).toLowerCase()}`;
  const from = size - shown.length;
  return html`<svg class="st strip" viewBox="0 0 124 14" width="124" height="14" role="img" aria-label=${label}><path class="base" d="M0 7H124" />
    ${shown.map((status, place) => html`<${Dot} status=${status} x=${7 + (from + place) * 10} y=${7} />`)}</svg>`;
}

/** A scale of time: x(ms) for a width, with room at both ends. */
export const timeScale = (from, to, width, margin = 8) => (time) => margin + ((ms(time) - from) / Math.max(1, to - from)) * (width - 2 * margin);

/**
 * Lanes of dots, one line for each lane: lanes [{id, label, dots: [{time, runs, status, title?}]}], `from` and `to` in ms, `at`: now.
 * With many runs one dot is a second, and its area the runs in it.
 */
export function Lanes({ lanes, from, to, at, label }) {
  const table = { head: ["Lane", "Dots"], rows: lanes.map((lane) => [lane.label, plural(lane.dots.length, "dot")]) };
  const height = 24 + lanes.length * 34;
  return html`<${Figure} label=${label} height=${height} table=${table} draw=${(width) => {
    const x = timeScale(from, to, width);
    return html`${lanes.map((lane, row) => {
      const y = 36 + row * 34;
      return html`<text class="mid" x="0" y=${y - 12}>${lane.label}</text><path class="base" d=${`M0 ${y}H${x(at)}`} /><path class="base dash" d=${`M${x(at)} ${y}H${width}`} />
        ${lane.dots.map((each) => html`<${Dot} status=${each.status} x=${x(each.time)} y=${y} r=${Math.min(8, 2.2 + Math.sqrt(each.runs ?? 1) * 0.8)} title=${each.title} />`)}`;
    })}<path class="now" d=${`M${x(at)} 6V${height}`} /><text class="c strong" x=${x(at)} y="10">now</text>`;
  }} />`;
}

/**
 * Runs on a time line, lateness as height on a logarithmic axis: runs [{id, time, status, lateness_ms, retried, reason, href}];
 * coming ones have the status COMING. `chosen`: id of the run that is marked; onChoose(run).
 */
export function RunTimeline({ runs, at, label, chosen, onChoose, height = 132 }) {
  const times = runs.map((run) => ms(run.time)).filter(Number.isFinite);
  const [from, to] = [Math.min(at, ...times), Math.max(at, ...times)];
  const base = height - 26;
  const y = (late) => (late > 1 ? base - Math.min(1, Math.log10(late) / 6) * (base - 14) : base);
  const titleOf = (run) => `${moment(run.time)} · ${word(run.status)}${run.lateness_ms > 0 ? `, ${duration(run.lateness_ms)} late` : ""}${run.reason ? `: ${run.reason}` : ""} · ${utcText(run.time)}`;
  const table = { head: ["Fire time", "State", "Lateness", "Reason"], rows: runs.map((run) => [moment(run.time), word(run.status), run.lateness_ms == null ? "–" : duration(run.lateness_ms), run.reason ?? ""]) };
  return html`<${Figure} label=${label} height=${height} table=${table} draw=${(width) => {
    const x = timeScale(from, to, width, 16);
    return html`${[["1 s", 1000], ["1 min", 60_000]].map(([name, late]) => html`<path class="gr" d=${`M0 ${y(late)}H${width}`} /><text x="0" y=${y(late) - 3}>${name} late</text>`)}
      <path class="base" d=${`M0 ${base}H${x(at)}`} /><path class="base dash" d=${`M${x(at)} ${base}H${width}`} />
      ${runs.map((run) => html`<g class=${onChoose ? "pickable" : ""} onClick=${() => onChoose?.(run)}>${run.lateness_ms > 1 && html`<path class=${`stem thin ${run.status === "FAILED" ? "fail" : run.lateness_ms > 1000 ? "late" : ""}`} d=${`M${x(run.time)} ${base}V${y(run.lateness_ms)}`} />`}
        ${run.id === chosen && html`<circle class="pick" cx=${x(run.time)} cy=${y(run.lateness_ms ?? 0)} r="8" />`}
        <${Dot} status=${run.status} retried=${run.retried} x=${x(run.time)} y=${y(run.lateness_ms ?? 0)} r=${4} title=${titleOf(run)} /></g>`)}
      <path class="now" d=${`M${x(at)} 4V${height - 18}`} /><text class="c strong" x=${Math.min(width - 14, Math.max(14, x(at)))} y=${height - 5}>now</text>
      ${times.length > 1 && html`<text x="0" y=${height - 5}>${clock(from, { seconds: false })}</text><text class="e" x=${width} y=${height - 5}>${moment(to, { seconds: false })}</text>`}`;
  }} />`;
}

/** The age of something as a distance: a dot on a logarithmic line from 100 ms to an hour. */
export function AgeLine({ seconds, warn = 60, bad = 300, label }) {
  const x = (value) => 4 + (Math.log(Math.max(0.1, Math.min(3600, value)) / 0.1) / Math.log(36_000)) * 142;
  const tone = !(seconds > 0) ? null : seconds >= bad ? ["stem fail", "k-failf"] : seconds >= warn ? ["stem late", "k-retry"] : ["stem", "k-ok"];
  return html`<svg class="age" viewBox="0 0 150 16" width="150" height="16" role="img" aria-label=${label}><path class="base" d="M4 8H146" />
    ${[1, 60, 3600].map((each) => html`<path class="tick" d=${`M${x(each)} 5v6`} />`)}${tone && html`<path class=${tone[0]} d=${`M4 8H${x(seconds)}`} /><circle class=${tone[1]} cx=${x(seconds)} cy="8" r="4" />`}</svg>`;
}

/** The age of the last tick on a line whose second mark is the minute in which the next is due. */
export function TickLine({ age, wide }) {
  const width = wide ? 160 : 92;
  const known = Number.isFinite(age);
  const due = width * 0.6;
  const x = known ? Math.min(width - 6, 1 + (age / 60) * (due - 1)) : 1;
  const late = age >= 180;
  const label = known ? `Last tick ${Math.round(age)} seconds ago; the next is due after 60 seconds` : "There was no tick yet";
  return html`<svg class="tickline" viewBox=${`0 0 ${width} 16`} preserveAspectRatio="xMinYMid meet" role="img" aria-label=${label}><path class="base" d=${`M1 8H${due}`} /><path class="base dash" d=${`M${due} 8H${width - 6}`} />
    ${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<path class="tick" d=${`M${1 + part * (due - 1)} ${part % 1 ? 6.5 : 5}v${part % 1 ? 3 : 6}`} />`)}
    ${known ? html`<path class=${late ? "stem fail" : age > 90 ? "stem late" : "stem"} d=${`M1 8H${x}`} /><circle class=${late ? "k-failf" : age > 90 ? "k-retry" : "k-ok"} cx=${x} cy="8" r="4" />` : html`<${Dot} status="FAILED" x=${5} y=${8} />`}</svg>`;
}
