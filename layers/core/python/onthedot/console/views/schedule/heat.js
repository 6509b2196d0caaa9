// @ts-check
// The calendar: a row for each hour, a cell for each minute, coloured by the runs that are due in it.
import { cls, html } from "../../lib/html.js";
import { compact, count, plural } from "../../lib/format.js";
import { clock, utcText } from "../../lib/time.js";
import { Bars } from "../../charts/bars.js";
import { Mark } from "../../components/marks.js";
import { boundsOf, levelOf } from "./herds.js";

const [LEFT, RIGHT, TOP, ROW] = [74, 118, 20, 25];

/** `onPick(index)` gets the place of a minute in `minutes`; arrow keys move it by minutes and hours. */
export function Heat({ rows, minutes, threshold, chosen, onPick, width, label, at, name }) {
  const cell = (width - LEFT - RIGHT) / 60;
  const bounds = boundsOf(threshold);
  const index = new Map(minutes.map((each, place) => [each, place]));
  const most = Math.max(threshold.value, ...rows.map((row) => row.peak?.runs ?? 0));
  const pick = (event) => {
    const place = event.target.dataset?.at;
    if (place !== undefined) onPick(Number(place));
  };
  const keys = (event) => {
    const steps = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: 60,
      ArrowUp: -60,
      Home: -minutes.length,
      End: minutes.length,
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    onPick(Math.min(minutes.length - 1, Math.max(0, chosen + steps[event.key])));
  };
  const height = TOP + rows.length * ROW;
  const peakX = (runs) => width - 70 + (70 * runs) / most;
  return html`<div class="heatbox" tabindex="0" role="group" aria-label="Minutes of the calendar: arrow keys choose one" onKeyDown=${keys} onClick=${pick}>
    <svg class="chart heatmap" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
    ${Array.from({ length: 12 }, (_, part) => html`<text class="c" x=${LEFT + (part * 5 + 0.5) * cell} y="10">${`:${String(part * 5).padStart(2, "0")}`}</text>`)}
    <text class="e" x=${width - 78} y="10">runs</text><text class="e" x=${width} y="10">peak</text>
    ${rows.map(
      (
        row,
        place,
      ) => html`<${Hour} key=${row.start} ...${{ row, cell, bounds, threshold, index, chosen, at, name }} y=${TOP + place * ROW} />
      <text class="e" x=${width - 78} y=${TOP + place * ROW + 16}>${compact(row.runs)}</text><rect class="bar-soft" x=${width - 70} y=${TOP + place * ROW + 9} width="70" height="6" />
      <rect class=${(row.peak?.runs ?? 0) > threshold.value ? "bar-late" : "bar-idle"} x=${width - 70} y=${TOP + place * ROW + 9} width=${peakX(row.peak?.runs ?? 0) - width + 70} height="6" />`,
    )}
    ${threshold.isLimit && html`<path class="lim" d=${`M${peakX(threshold.value)} ${TOP - 4}V${height}`} />`}</svg></div>`;
}

function Hour({ row, y, cell, bounds, threshold, index, chosen, at, name }) {
  const isNow = row.cells.findIndex(
    (each) => each && Date.parse(each.time) <= at && at < Date.parse(each.time) + 60_000,
  );
  return html`${row.letters ? html`<text class=${row.isTwice ? "t-r" : "mid"} x="0" y=${y + 16}>${row.letters}</text>` : row.day && html`<text class="strong" x="0" y=${y + 16}>${row.day}</text>`}
    <text class="e mid" x=${LEFT - 8} y=${y + 16}>${row.hour}</text>${row.isTwice && html`<path class="fold" d=${`M${LEFT - 3} ${y}v${ROW}`} />`}
    ${row.cells.map(
      (each, minute) =>
        each &&
        html`<rect class=${cls("hc", `h${levelOf(each.runs, bounds, threshold)}`)} data-at=${index.get(each)} x=${LEFT + minute * cell + 0.5} y=${y + 0.5} width=${cell - 1} height=${ROW - 1}>
      <title>${`${name(each.time)}: ${plural(each.runs, "run")}. ${utcText(each.time)}`}</title></rect>`,
    )}
    ${row.cells.map((each, minute) => each && each.runs > threshold.value && html`<circle class="herd" cx=${LEFT + (minute + 0.5) * cell} cy=${y + ROW / 2} r=${Math.min(4, cell / 2.5)} data-at=${index.get(each)} />`)}
    ${row.cells.map((each, minute) => each && index.get(each) === chosen && html`<rect class="picked" x=${LEFT + minute * cell} y=${y} width=${cell} height=${ROW} rx="2" />`)}
    ${isNow >= 0 && html`<path class="now" d=${`M${LEFT + isNow * cell} ${y - 2}v${ROW + 4}`} />`}`;
}

/** What the colours mean. */
export function HeatLegend({ threshold }) {
  const bounds = boundsOf(threshold);
  return html`<span class="legend">${["none", ...bounds.map((bound) => `to ${count(bound)}`)].map((text, level) => html`<span key=${level}><svg viewBox="0 0 12 12" aria-hidden="true"><rect class=${`h${level}`} width="12" height="12" rx="1" /></svg>${text}</span>`)}
    <span><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="h5" width="12" height="12" rx="1" /><circle class="herd" cx="6" cy="6" r="3" /></svg>${threshold.isLimit ? `over the limit of ${count(threshold.value)}` : `over ${count(threshold.value)}`}</span></span>`;
}

// The calendar on a small screen: each hour is a bar; the chosen hour opens to its minutes.

const WIDTH = 100;

export function Hours({ rows, minutes, threshold, chosen, onPick, name }) {
  const most = Math.max(1, ...rows.map((row) => row.runs));
  const open = minutes[chosen];
  return html`<ol class="hourbars">${rows.map((row) => {
    const isOpen = row.cells.includes(open);
    const herds = row.cells.filter((each) => each && each.runs > threshold.value).length;
    return html`<li key=${row.start}><button type="button" aria-expanded=${String(isOpen)} onClick=${() => onPick(minutes.indexOf(row.peak ?? row.cells.find(Boolean)))}>
        <span class="hb-t">${row.day && html`<b>${row.day}</b> `}${row.hour}${row.letters && html` <small>${row.letters}</small>`}</span>
        <svg class="hb-b" viewBox=${`0 0 ${WIDTH} 8`} preserveAspectRatio="none" aria-hidden="true"><rect class="bar-soft" width=${WIDTH} height="8" /><rect class=${herds ? "bar-late" : "bar-ok"} width=${(WIDTH * row.runs) / most} height="8" /></svg>
        <span class="hb-n">${compact(row.runs)}<span class="vh"> runs</span></span>${herds ? html`<${Mark} status="retrying" label=${plural(herds, "herd minute")} />` : html`<span></span>`}</button>
      ${isOpen && html`<${OneHour} ...${{ row, threshold, name }} />`}</li>`;
  })}</ol>`;
}

function OneHour({ row, threshold, name }) {
  const points = row.cells.filter(Boolean).map((each) => ({ time: each.time, value: each.runs }));
  const limit = threshold.isLimit ? { value: threshold.value, text: `limit ${count(threshold.value)}` } : null;
  return html`<div class="hb-open"><${Bars} points=${points} limit=${limit} height=${120} unit="runs due" tone="bar-ok" peakText=${(each) => `holds ${count(each.value)}`}
    label=${`Runs due in each minute from ${name(points[0].time)} to ${clock(points.at(-1).time, { seconds: false })}`} /></div>`;
}
