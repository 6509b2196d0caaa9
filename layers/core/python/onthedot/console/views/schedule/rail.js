// @ts-check
// Beside the calendar: herds, what jitter would do, and who fires in the chosen minute.
import { html, useState } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { jobHref } from "../../lib/router.js";
import { clock, duration, utcText } from "../../lib/time.js";
import { Figure, Grid, steps } from "../../charts/figure.js";
import { Card } from "../../components/bits.js";
import { herdsOf, withJitter } from "./herds.js";

const MOST_HERDS = 8;

/** Whether a herd is told in multiples of the usual, and not as what is over the threshold. */
const inTimes = ({ isLimit, usual }) => !isLimit && usual > 0;

export function Herds({ minutes, threshold, chosen, onPick, name }) {
  const herds = herdsOf(minutes, threshold);
  const hint = threshold.isLimit
    ? `minutes over ${count(threshold.value)}`
    : `over ${count(threshold.value)} in a minute${threshold.usual ? `; usual are ${count(threshold.usual)}` : ""}`;
  if (!herds.length) return html`<${Card} title="Herds" hint=${hint}><p class="faint">No minute has that many.</p><//>`;
  const late = (over) => (threshold.perSecond ? duration((over / threshold.perSecond) * 1000) : "");
  return html`<${Card} title="Herds" hint=${hint} flush><table class="tbl herds"><caption class="vh">Minutes that hold too many runs, the largest first</caption>
    <thead><tr><th scope="col">Minute</th><th scope="col" class="num">Runs</th><th scope="col" class="num">${inTimes(threshold) ? "× usual" : "Over"}</th>${threshold.isLimit && html`<th scope="col" class="num">Late</th>`}</tr></thead>
    <tbody>${herds.slice(0, MOST_HERDS).map(
      (
        each,
      ) => html`<tr key=${each.time} class=${minutes[chosen] === each ? "chosen" : null}><td class="nowrap"><button type="button" class="disc" aria-pressed=${String(minutes[chosen] === each)} title=${utcText(each.time)} onClick=${() => onPick(minutes.indexOf(each))}>${name(each.time)}</button></td>
      <td class="num">${count(each.runs)}</td><td class="num t-retry">${inTimes(threshold) ? (each.runs / threshold.usual).toFixed(1) : count(each.runs - threshold.value)}</td>${threshold.isLimit && html`<td class="num faint">${late(each.runs - threshold.value)}</td>`}</tr>`,
    )}</tbody></table>
    ${herds.length > MOST_HERDS && html`<p class="fine">${plural(herds.length - MOST_HERDS, "more minute")}</p>`}<//>`;
}

export function Jitter({ minutes, chosen, threshold, name }) {
  const [seconds, setSeconds] = useState(300);
  const here = minutes[chosen];
  if (!here?.runs)
    return html`<${Card} title="What jitter would do"><p class="faint">No run is due at ${here ? name(here.time) : "this minute"}. Choose another minute.</p><//>`;
  const after = withJitter(minutes, chosen, seconds);
  const peak = Math.max(...after.map((each) => each.runs));
  const said = sentence(here, peak, seconds, threshold, name);
  return html`<${Card} title="What jitter would do"><div class="slide"><label for="jitter">Jitter of jobs at ${name(here.time)}</label><output for="jitter">${seconds} s</output></div>
    <input id="jitter" type="range" min="0" max="900" step="30" value=${seconds} onInput=${(event) => setSeconds(Number(event.target.value))} /><div class="ends"><span>0</span><span>900 s</span></div>
    <div class="below"><${Figure} height=${132} label=${`${said.strong} ${said.text}`} draw=${(width) => draw(after, here, threshold, width)} /></div>
    <p class="say2 below"><b>${said.strong}</b> ${said.text}</p><//>`;
}

function sentence(here, peak, seconds, threshold, name) {
  if (!seconds)
    return { strong: `${plural(here.runs, "run")} start within one minute.`, text: "Move the slider to spread them." };
  const over = peak > threshold.value;
  const limit = threshold.isLimit
    ? here.runs > threshold.value
      ? over
        ? " Some still wait for the limit."
        : " No run waits for the limit any more."
      : ""
    : over
      ? " It is still a herd."
      : "";
  return {
    strong: `${count(here.runs)} runs in one minute become at most ${count(Math.ceil(peak))} a minute.`,
    text: `${limit.trim()} Each starts up to ${duration(seconds * 1000)} after ${name(here.time)}, at a fixed offset of its own: set jitter_seconds of the job.`.trim(),
  };
}

function draw(after, here, threshold, width) {
  const [left, top, bottom, right] = [34, 10, 112, width - 2];
  const values = steps(
    Math.max(
      here.runs,
      ...after.map((each) => each.runs),
      threshold.isLimit && threshold.value < here.runs * 3 ? threshold.value : 0,
    ),
  );
  const y = (value) => bottom - (value / values.at(-1)) * (bottom - top);
  const slot = (right - left) / after.length;
  const x = (place) => left + place * slot;
  const at = after.findIndex((each) => each.time === here.time);
  return html`<${Grid} values=${values} y=${y} left=${left} right=${right} text=${count} />
    ${after.map((each, place) => html`<rect class=${each.runs > threshold.value ? "bar-late" : "bar-ok"} x=${x(place) + 1} y=${y(each.runs)} width=${Math.max(1, slot - 2)} height=${bottom - y(each.runs)}><title>${`${clock(each.time, { seconds: false })}: ${count(Math.round(each.runs))} in place of ${count(each.was)}`}</title></rect>`)}
    ${at >= 0 && html`<rect class="ghost" x=${x(at) + 1.5} y=${y(here.runs)} width=${Math.max(1, slot - 3)} height=${Math.max(0, y(after[at].runs) - y(here.runs))} />`}
    ${threshold.isLimit && threshold.value <= values.at(-1) && html`<path class="lim" d=${`M${left} ${y(threshold.value)}H${right}`} /><text class="e mid" x=${right} y=${y(threshold.value) - 4}>limit ${count(threshold.value)}</text>`}
    ${after.map((each, place) => (place - at) % 5 === 0 && html`<text class="c" x=${x(place) + slot / 2} y="126">${clock(each.time, { seconds: false })}</text>`)}`;
}

/** The heaviest jobs of the chosen minute, and how many runs others have. */
export function Who({ here, name, zoneName }) {
  if (!here) return null;
  const heavy = here.heaviest ?? [];
  const rest = here.runs - heavy.reduce((sum, each) => sum + each.runs, 0);
  return html`<${Card} title=${`Who fires at ${name(here.time)}`} flush><p class="pad faint">${zoneName}; ${utcText(here.time)}</p><ul class="who2">
    ${heavy.map((each) => html`<li key=${each.job_id}><a class="cut" href=${jobHref(each.job_id)}>${each.name ?? each.job_id}</a><span>${count(each.runs)}</span></li>`)}
    ${rest > 0 && html`<li><span>others</span><span>${count(rest)}</span></li>`}${!here.runs && html`<li class="faint">No run is due.</li>`}</ul><//>`;
}
