// @ts-check
// Throughput over time, drawn by uPlot: a line with its area, and marks of what failed and was retried below it.
import { html, useEffect, useRef } from "../lib/html.js";
import { compact, count } from "../lib/format.js";
import { shownTheme } from "../lib/theme.js";
import { clock, dayOf, moment, ms, utcText, zone } from "../lib/time.js";
import { Alternative, steps, useWidth } from "./figure.js";

const loadPlot = () => import("../vendor/uplot.js").then((module) => module.default);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ROWS = [
  ["failed", "--fail-mark", "--fail"],
  ["retries", "--retry-mark", "--retry"],
];

/** points: [{time, value, failed, retries}], oldest first. `unit` names the value: "runs ended a minute". */
export function Series({ points, label, unit = "runs", height = 168, long = false }) {
  const [place, width] = useWidth();
  const spot = useRef(null);
  const told = useRef(null);
  const theme = shownTheme.value;
  const inZone = zone.value;
  useEffect(() => {
    let [plot, gone] = [null, false];
    loadPlot().then((UPlot) => {
      if (gone || !spot.current) return;
      plot = new UPlot(
        options(width, height, points, told, unit, long),
        [points.map((each) => ms(each.time) / 1000), points.map((each) => each.value)],
        spot.current,
      );
    });
    return () => {
      gone = true;
      plot?.destroy();
    };
  }, [points, width, height, theme, inZone, unit, long]);
  const table = {
    head: ["Time", unit, "failed", "retries"],
    rows: points.map((each) => [
      moment(each.time, { seconds: false }),
      count(each.value),
      count(each.failed ?? 0),
      count(each.retries ?? 0),
    ]),
  };
  return html`<figure class="figure series"><div ref=${place} role="img" aria-label=${label}><div ref=${spot} class="plot"></div></div>
    <p class="readout" ref=${told} aria-hidden="true"></p><${Alternative} label=${label} table=${table} /></figure>`;
}

/** @returns {any} What uPlot takes. */
function options(width, height, points, told, unit, long) {
  const [ink, line] = [colour("--ink-3"), colour("--line")];
  const top = steps(Math.max(0, ...points.map((each) => each.value)));
  const text = (seconds) =>
    long && clock(seconds * 1000) === "00:00:00"
      ? dayOf(seconds * 1000).replace(/ \d{4}$/, "")
      : clock(seconds * 1000, { seconds: false });
  const font = "11px -apple-system, 'Segoe UI', Roboto, sans-serif";
  return {
    width,
    height,
    padding: [22, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7, fill: colour("--accent-mark") }, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: () => [0, top.at(-1)] } },
    series: [
      {},
      {
        stroke: colour("--accent-mark"),
        width: 1.5,
        fill: colour("--accent-soft"),
        points: { show: points.length < 2 },
      },
    ],
    axes: [
      {
        stroke: ink,
        font,
        grid: { show: false },
        ticks: { show: false },
        gap: 34,
        size: 50,
        space: long ? 90 : 70,
        values: (_, ticks) => ticks.map(text),
      },
      {
        stroke: ink,
        font,
        size: 38,
        gap: 6,
        splits: () => top,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        values: (_, ticks) => ticks.map(compact),
      },
    ],
    hooks: { draw: [(plot) => marks(plot, points)], setCursor: [(plot) => readout(plot, points, told, unit)] },
  };
}

/** Two rows below the axis: a cross where runs failed, a dot where they were retried; and the name of the peak. */
function marks(plot, points) {
  const { ctx } = plot;
  const scale = devicePixelRatio;
  const { left, top, width, height } = plot.bbox;
  const x = (each) => plot.valToPos(ms(each.time) / 1000, "x", true);
  ctx.save();
  ctx.font = `${11 * scale}px sans-serif`;
  for (const [row, [field, mark, ink]] of ROWS.entries()) {
    const y = top + height + (12 + row * 14) * scale;
    ctx.strokeStyle = colour("--line");
    ctx.lineWidth = scale;
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.fillStyle = colour(ink);
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText(compact(points.reduce((sum, each) => sum + (each[field] ?? 0), 0)), left - 8 * scale, y);
    for (const each of points) if (each[field]) drawMark(ctx, field, x(each), y, scale, colour(mark));
  }
  const peak = points.reduce((best, each) => (each.value > (best?.value ?? 0) ? each : best), null);
  if (peak) namePeak(plot, peak, x(peak), scale);
  ctx.restore();
}

function drawMark(ctx, field, x, y, scale, fill) {
  ctx.fillStyle = ctx.strokeStyle = fill;
  ctx.beginPath();
  if (field === "failed") {
    const r = 3 * scale;
    ctx.lineWidth = 1.8 * scale;
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    ctx.stroke();
    return;
  }
  ctx.arc(x, y, 2.6 * scale, 0, 7);
  ctx.fill();
}

function namePeak(plot, peak, x, scale) {
  const { ctx } = plot;
  const y = plot.valToPos(peak.value, "y", true);
  ctx.fillStyle = colour("--accent-mark");
  ctx.beginPath();
  ctx.arc(x, y, 3 * scale, 0, 7);
  ctx.fill();
  // Above the peak there is no line that could cross the text.
  const text = `${count(peak.value)} at ${moment(peak.time, { seconds: false })}`;
  const half = ctx.measureText(text).width / 2;
  ctx.fillStyle = colour("--ink-2");
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  ctx.fillText(
    text,
    Math.min(plot.bbox.left + plot.bbox.width - half, Math.max(plot.bbox.left + half, x)),
    y - 6 * scale,
  );
}

function readout(plot, points, told, unit) {
  const each = points[plot.cursor.idx];
  if (!told.current) return;
  told.current.textContent =
    each && plot.cursor.left >= 0
      ? `${moment(each.time, { seconds: false })}: ${count(each.value)} ${unit}, ${count(each.failed ?? 0)} failed, ${count(each.retries ?? 0)} retries · ${utcText(each.time)}`
      : "";
}
