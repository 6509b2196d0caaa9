// @ts-check
// Dots: of one run, of the latest outcomes in a row, of an age, and of the last tick.
import { html } from "../lib/html.js";
import { plural, word } from "../lib/format.js";

/** The SVG of one run at (x, y): status SUCCEEDED, FAILED, SKIPPED …; `retried` makes a success amber; "RETRYING" is hollow and amber, "COMING" hollow and dashed, "OVERDUE" hollow and red. */
export function Dot({ status, x, y, r = 3, retried, title }) {
  const told = title && html`<title>${title}</title>`;
  if (status === "FAILED")
    return html`<g>${told}<path class="k-fail" d=${`M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} /></g>`;
  if (status === "CANCELLED" || status === "DELETED")
    return html`<g>${told}<circle class="k-skip" cx=${x} cy=${y} r=${r} /><path class="k-strike" d=${`M${x - r} ${y + r}l${2 * r} ${-2 * r}`} /></g>`;
  if (status === "RUNNING" || status === "DISPATCHED")
    return html`<g>${told}<circle class="k-ring" cx=${x} cy=${y} r=${r + 1} /><circle class="k-run" cx=${x} cy=${y} r=${r / 2} /></g>`;
  if (status === "SKIPPED")
    return html`<g>${told}<circle class="k-skip" cx=${x} cy=${y} r=${r} /><path class="k-strike" d=${`M${x - r} ${y}h${2 * r}`} /></g>`;
  const known = {
    SUCCEEDED: retried ? "k-retry" : "k-ok",
    RETRYING: "k-again",
    COMING: "k-nexto",
    WAITING: "k-hold",
    PAUSED: "k-hold",
    OVERDUE: "k-due",
  };
  return html`<circle class=${known[status] ?? "k-next"} cx=${x} cy=${y} r=${r}>${told}</circle>`;
}

/** The latest outcomes as a strip of 12, oldest at the left. `outcomes`: statuses, the latest first, as in GET /v1/jobs; `none`: the words when there are none. */
export function OutcomeStrip({ outcomes = [], size = 12, none = "no run yet" }) {
  if (!outcomes.length) return html`<span class="faint">${none}</span>`;
  const shown = outcomes.slice(0, size).toReversed();
  const counts = Object.entries(Object.groupBy ? Object.groupBy(shown, (each) => each) : {}).map(
    ([status, list]) => `${list.length} ${word(status).toLowerCase()}`,
  );
  const label = `The last ${plural(shown.length, "run")}: ${counts.join(", ") || shown.map(word).join(", ")}; latest ${word(shown.at(-1)).toLowerCase()}`;
  const from = size - shown.length;
  return html`<svg class="st strip" viewBox="0 0 124 14" width="124" height="14" role="img" aria-label=${label}><path class="base" d="M0 7H124" />
    ${shown.map((status, place) => html`<${Dot} status=${status} x=${7 + (from + place) * 10} y=${7} />`)}</svg>`;
}

/** The age of something as a distance: a dot on a logarithmic line from 100 ms to an hour. */
export function AgeLine({ seconds, warn = 60, bad = 300, label }) {
  const x = (value) => 4 + (Math.log(Math.max(0.1, Math.min(3600, value)) / 0.1) / Math.log(36_000)) * 142;
  const tone = !(seconds > 0)
    ? null
    : seconds >= bad
      ? ["stem fail", "k-failf"]
      : seconds >= warn
        ? ["stem late", "k-retry"]
        : ["stem", "k-ok"];
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
  const label = known
    ? `Last tick ${Math.round(age)} seconds ago; the next is due after 60 seconds`
    : "There has been no tick yet";
  return html`<svg class="tickline" viewBox=${`0 0 ${width} 16`} preserveAspectRatio="xMinYMid meet" role="img" aria-label=${label}><path class="base" d=${`M1 8H${due}`} /><path class="base dash" d=${`M${due} 8H${width - 6}`} />
    ${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<path class="tick" d=${`M${1 + part * (due - 1)} ${part % 1 ? 6.5 : 5}v${part % 1 ? 3 : 6}`} />`)}
    ${known ? html`<path class=${late ? "stem fail" : age > 90 ? "stem late" : "stem"} d=${`M1 8H${x}`} /><circle class=${late ? "k-failf" : age > 90 ? "k-retry" : "k-ok"} cx=${x} cy="8" r="4" />` : html`<${Dot} status="FAILED" x=${5} y=${8} />`}</svg>`;
}
