// The calendar on a small screen: each hour is a bar; the chosen hour opens to its minutes.
import { html } from "../../lib/html.js";
import { compact, count, plural } from "../../lib/format.js";
import { clock } from "../../lib/time.js";
import { Bars } from "../../charts/bars.js";
import { Mark } from "../../components/marks.js";

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
