// @ts-check
// Lateness as a histogram on a logarithmic axis, with p50, p99 and the latest as dots on a line above it.
import { html } from "../lib/html.js";
import { compact, count } from "../lib/format.js";
import { duration } from "../lib/time.js";
import { Figure } from "./figure.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [8, 8, 62, 20];
const HEIGHT = 156;
const LETTER = 6.4;
const AXIS = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

/** lateness: {p50_ms, p99_ms, max_ms, counts}, bounds: upper ends of the buckets in ms; promise: ms that p99 should keep. */
export function Histogram({ lateness, bounds, promise = 1000, label }) {
  const buckets = bucketsOf(lateness?.counts ?? [], bounds ?? []);
  const sentence = label ?? sentenceOf(lateness, buckets, promise);
  const table = {
    head: ["Started within", "Runs"],
    rows: buckets.map((each) => [
      each.to === Infinity ? `more than ${duration(each.from)}` : duration(each.to),
      count(each.runs),
    ]),
  };
  return html`<${Figure} label=${sentence} height=${HEIGHT} table=${table} draw=${(width) => draw(width, lateness, buckets, promise)} />`;
}

const bucketsOf = (counts, bounds) =>
  counts.map((runs, index) => ({
    runs,
    from: index ? bounds[index - 1] : bounds[0] / 2,
    to: bounds[index] ?? Infinity,
  }));

function sentenceOf(lateness, buckets, promise) {
  if (!buckets.some((each) => each.runs)) return "How late runs started: no runs in this time.";
  const late = buckets.filter((each) => each.from >= promise).reduce((sum, each) => sum + each.runs, 0);
  return `How late runs started, on a logarithmic axis. Half within ${duration(lateness.p50_ms)}, 99 percent within ${duration(lateness.p99_ms)}, ${count(late)} later than the promised ${duration(promise)}.`;
}

function draw(width, lateness, buckets, promise) {
  const used = buckets.filter((each) => each.runs);
  const low = Math.max(0.5, Math.min(1, ...used.map((each) => each.from)));
  const high = Math.max(
    promise * 10,
    ...used.map((each) => (each.to === Infinity ? each.from * 4 : each.to)),
    lateness?.max_ms ?? 0,
  );
  const x = (value) => LEFT + (Math.log(Math.max(value, low) / low) / Math.log(high / low)) * (width - LEFT - RIGHT);
  const most = Math.max(1, ...used.map((each) => each.runs));
  const bottom = HEIGHT - BOTTOM;
  const y = (runs) => bottom - (runs / most) * (bottom - TOP);
  return html`${used.length ? dots(lateness, x, width, promise) : html`<text class="c" x=${width / 2} y="80">No runs in this time</text>`}
    <path class="base" d=${`M${LEFT} ${bottom}H${width - RIGHT}`} />
    ${used.map((each) => column(each, x, y, bottom, high, promise))}
    <path class="lim" d=${`M${x(promise)} ${TOP - 24}V${bottom}`} />${promiseText(`p99 promised: ${duration(promise)}`, x(promise), width)}
    ${AXIS.filter((each) => each >= low && each <= high).map((each) => html`<path class="tick" d=${`M${x(each)} ${bottom}v4`} /><text class="c" x=${Math.min(width - 16, Math.max(14, x(each)))} y=${HEIGHT - 4}>${duration(each, { units: 1 })}</text>`)}`;
}

function column(each, x, y, bottom, high, promise) {
  const [left, right] = [x(each.from), x(each.to === Infinity ? high : each.to)];
  const title =
    each.to === Infinity ? `more than ${duration(each.from)}` : `${duration(each.from)} to ${duration(each.to)}`;
  return html`<g><title>${`${title}: ${count(each.runs)} runs`}</title><rect class=${each.from >= promise ? "bar-late" : "bar-ok"} x=${left + 0.75} y=${Math.min(bottom - 1.5, y(each.runs))} width=${Math.max(1, right - left - 1.5)} height=${Math.max(1.5, bottom - y(each.runs))} />
    ${right - left > 16 && html`<text class="c" x=${(left + right) / 2} y=${Math.min(bottom - 1.5, y(each.runs)) - 4}>${compact(each.runs)}</text>`}</g>`;
}

/** At the right of its line, or at the left when there is no room. */
function promiseText(text, x, width) {
  const fits = x + 5 + text.length * LETTER < width;
  return html`<text class=${fits ? "mid" : "e mid"} x=${fits ? x + 5 : x - 5} y=${TOP - 17}>${text}</text>`;
}

/** What is named on the line: [{names, value}]. Values that read the same have one text. */
function named(lateness) {
  const known = [
    ["p50", lateness.p50_ms],
    ["p99", lateness.p99_ms],
    ["latest", lateness.max_ms],
  ].filter(([, value]) => Number.isFinite(value));
  return known.reduce((found, [name, value]) => {
    const before = found.at(-1);
    if (before && duration(before.value) === duration(value))
      return [...found.slice(0, -1), { names: `${before.names}, ${name}`, value }];
    return [...found, { names: name, value }];
  }, []);
}

function dots(lateness, x, width, promise) {
  const all = named(lateness).map((each) => ({
    ...each,
    room: `${each.names} ${duration(each.value)}`.length * LETTER + 6,
  }));
  const places = apart(
    all.map((each) => [x(each.value), each.room]),
    width,
  );
  const texts = all.map(
    ({ names, value }, index) =>
      html`<text class="c mid" x=${places[index]} y="27"><tspan class="strong">${names}</tspan> ${duration(value)}</text>`,
  );
  const end = Math.max(...all.map(({ value }) => x(value)));
  return html`<path class="now" d=${`M${LEFT + 0.5} 5v10`} /><path class="base" d=${`M${LEFT} 10H${end}`} /><path class="stem" d=${`M${LEFT} 10H${x(lateness.p99_ms ?? 0)}`} />
    ${all.map(({ value }) => html`<circle class="halo" cx=${x(value)} cy="10" r="5" /><circle class=${value > promise ? "k-retry" : "k-ok"} cx=${x(value)} cy="10" r="3.600" />`)}${texts}`;
}

/** Move texts, [[middle, room]] with rising middles, apart, so that none covers another: first to the right, then back from the end. */
function apart(texts, width) {
  const moved = [];
  let end = 0;
  for (const [middle, room] of texts) {
    moved.push(Math.max(middle, end + room / 2));
    end = moved.at(-1) + room / 2;
  }
  let begin = width;
  for (const [index, [, room]] of [...texts.entries()].reverse()) {
    moved[index] = Math.min(moved[index], begin - room / 2);
    begin = moved[index] - room / 2;
  }
  return moved;
}
