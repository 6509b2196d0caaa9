// @ts-check
// Bars over time with a limit line: what is above the limit is amber, and the peak is named.
import { html } from "../lib/html.js";
import { compact, count } from "../lib/format.js";
import { clock, utcText } from "../lib/time.js";
import { Figure, Grid, steps } from "./figure.js";

const [LEFT, TOP, FOOT] = [34, 22, 20];

/**
 * points: [{time, value, note?}], oldest first; limit: {value, text} or null; peakText(point) names the peak.
 * `label`: a sentence about the whole. `onPick(point)` makes the bars links for the mouse; give a table or list for others.
 */
export function Bars({
  points,
  limit,
  label,
  height = 156,
  peakText,
  tone = "bar-next",
  unit = "runs",
  empty = "No runs are due",
}) {
  const table = {
    head: ["Time", unit],
    rows: points.map((each) => [clock(each.time, { seconds: false }), count(each.value)]),
  };
  return html`<${Figure} label=${label} height=${height} table=${table} draw=${(width) => draw({ points, limit, width, height, peakText, tone, unit, empty })} />`;
}

function draw({ points, limit, width, height, peakText, tone, unit, empty }) {
  const [right, bottom] = [width - 4, height - FOOT];
  const peak = points.reduce((best, each) => (each.value > (best?.value ?? 0) ? each : best), null);
  const top = Math.max(peak?.value ?? 0, limit && limit.value <= 4 * (peak?.value ?? 0) ? limit.value : 0);
  const values = steps(top);
  const y = (value) => bottom - (Math.min(value, values.at(-1)) / values.at(-1)) * (bottom - TOP);
  const slot = (right - LEFT) / Math.max(1, points.length);
  const x = (index) => LEFT + index * slot;
  const gap = Math.min(2, slot / 4);
  const shown = limit && limit.value <= values.at(-1) ? limit : null;
  const between = slot * 10 < 60 ? 20 : 10;
  const peakX = peak ? x(points.indexOf(peak)) : LEFT;
  const labelled = points
    .map((each, index) => ({ each, index }))
    .filter(({ each }) => new Date(each.time).getUTCMinutes() % between === 0);
  return html`<${Grid} values=${values} y=${y} left=${LEFT} right=${right} text=${compact} />
    ${points.map((each, index) => bar(each, x(index) + gap / 2, slot - gap, y, bottom, shown, tone, unit))}
    ${shown && html`<path class="lim" d=${`M${LEFT} ${y(shown.value)}H${right}`} />${limitText(shown, y(shown.value), peakX, right)}`}
    ${peak && peakText && named(peak, peakX, y(peak.value), slot, right, peakText)}
    ${labelled.map(({ each, index }) => html`<text class="c" x=${x(index) + slot / 2} y=${height - 4}>${clock(each.time, { seconds: false })}</text>`)}
    ${!peak && html`<text class="c" x=${width / 2} y=${(TOP + bottom) / 2}>${empty}</text>`}`;
}

function bar(each, x, width, y, bottom, limit, tone, unit) {
  if (!each.value) return null;
  const title = html`<title>${`${clock(each.time, { seconds: false })}: ${count(each.value)} ${unit}. ${utcText(each.time)}`}</title>`;
  const normal = limit ? Math.min(each.value, limit.value) : each.value;
  return html`<g>${title}<rect class=${tone} x=${x} y=${y(normal)} width=${Math.max(1, width)} height=${Math.max(1, bottom - y(normal))} />
    ${normal < each.value && html`<rect class="bar-late" x=${x} y=${y(each.value)} width=${Math.max(1, width)} height=${y(normal) - y(each.value)} />`}</g>`;
}

const LETTER = 5.8;
const fitting = (texts, space) => texts.find((text) => text.length * LETTER < space) ?? "";

/** The limit is named on the side where the peak is not. */
function limitText(limit, y, peakX, right) {
  const atLeft = peakX > (LEFT + right) / 2;
  const space = atLeft ? peakX - LEFT : right - peakX;
  return html`<text class=${atLeft ? "mid" : "e mid"} x=${atLeft ? LEFT + 4 : right} y=${y - 5}>${fitting([limit.text, limit.short ?? "limit", "limit"], space - 12)}</text>`;
}

/** The peak is named above the bar's top, with as many words as there is room for. */
function named(peak, x, y, slot, right, peakText) {
  const before = x > (LEFT + right) / 2;
  const time = clock(peak.time, { seconds: false });
  const space = (before ? x - LEFT : right - x - slot) - (time.length + 1) * LETTER - 8;
  const words = fitting([peakText(peak), `holds ${count(peak.value)}`, count(peak.value)], space);
  return html`<text class=${before ? "e mid" : "mid"} x=${before ? x - 4 : x + slot + 4} y=${Math.max(10, y - 4)}><tspan class="strong">${time}</tspan> ${words}</text>`;
}
