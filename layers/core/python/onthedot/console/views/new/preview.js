// @ts-check
// The preview next to the form: words, the first day as a line, the next fires, and the same job as a command.
import { html } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { count, plural } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { overview } from "../../lib/session.js";
import { clock, dayOf, duration, moment, ms } from "../../lib/time.js";
import { cronWords, everyWords } from "../../lib/words.js";
import { Figure } from "../../charts/figure.js";
import { Card, CopyAs } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { FireTable, NextNote } from "./fires.js";

const SHOWN = 5;

function sentence(f, body) {
  if (f.when === "now") return "Now";
  if (f.when === "at") return f.at ? `Once, at ${f.at.replace("T", " ")} ${f.timezone || "UTC"}` : "Once";
  if (f.when === "delay")
    return Number(f.delay) >= 0 && f.delay !== ""
      ? `Once, ${duration(Number(f.delay) * 1000)} after it is created`
      : "Once, after a delay";
  if (f.when === "event") return "On each event that matches";
  if (f.when === "every") return f.every ? everyWords(body.every) : "Every …";
  return f.cron.trim() ? cronWords(f.cron) : "Enter a cron expression";
}

/** The fires of the first day on a line. */
function Day({ fires, zone }) {
  const first = dayOf(fires[0].time, zone);
  const day = fires.filter((fire) => dayOf(fire.time, zone) === first);
  const hour = (time) => {
    const [h, m, s] = clock(time, { zone }).split(":").map(Number);
    return h + m / 60 + s / 3600;
  };
  const [from, to] = [
    Math.max(0, Math.floor((hour(day[0].time) - 1) / 3) * 3),
    Math.min(24, Math.ceil((hour(day.at(-1).time) + 1) / 3) * 3),
  ];
  const gap = day.length > 1 ? ms(day[1].time) - ms(day[0].time) : null;
  const even = gap && day.every((fire, place) => place === 0 || ms(fire.time) - ms(day[place - 1].time) === gap);
  const text = `${plural(day.length, "fire")}${day.length === fires.length && fires.length >= 200 ? " or more" : ""}${even ? `, ${duration(gap)} apart` : ""}`;
  return html`<${Figure} className="firstday" height=${54} label=${`${first}: ${text}.`} draw=${(width) => {
    const x = (h) => 4 + ((h - from) / Math.max(1, to - from)) * (width - 8);
    const ticks = Array.from({ length: (to - from) / 3 + 1 }, (_, place) => from + place * 3);
    const step = Math.ceil(ticks.length / Math.max(2, Math.floor(width / 70)));
    return html`<path class="base dash" d=${`M2 26H${width - 2}`} /><text class="mid" x="2" y="10"><tspan class="strong">${first.split(" ").slice(0, 3).join(" ")}</tspan> ${text}</text>
      ${ticks.map((tick, place) => html`<path class="tick" d=${`M${x(tick)} 21v10`} />${place % step === 0 && html`<text class=${place === 0 ? "" : x(tick) > width - 30 ? "e" : "c"} x=${x(tick)} y="48">${`${String(tick).padStart(2, "0")}:00`}</text>`}`)}
      ${day.map((fire) => html`<circle class="k-nexto" cx=${x(hour(fire.time))} cy="26" r="2.5" />`)}`;
  }} />`;
}

/** A fire in a minute that holds more runs than the limit of the tenant. */
function Herd({ fires }) {
  const { data } = usePoll("forecast", { minutes: 1500 }, { every: 0 });
  const rate = overview.value?.limits?.per_second;
  if (!data || !rate) return null;
  const runs = new Map(data.minutes.map((minute) => [Math.floor(ms(minute.time) / 60_000), minute.runs]));
  const full = fires
    .map((fire) => [fire.time, runs.get(Math.floor(ms(fire.time) / 60_000)) ?? 0])
    .find(([, n]) => n > rate * 60);
  if (!full) return null;
  return html`<div class="pad herdnote"><${Mark} status="retrying" /><span><b>${clock(full[0], { seconds: false })} is a herd minute:</b> ${count(full[1])} runs, the limit is ${count(rate * 60)}. Jitter would spread them. <a class="link" href=${href("/schedule")}>See the schedule</a></span></div>`;
}

export function Preview({ f, body, preview }) {
  const recurs = ["cron", "every"].includes(f.when);
  const { fires, error, example } = preview;
  const zone = f.when === "cron" ? (body.timezone ?? "UTC") : "UTC";
  const known = recurs && fires.length > 0;
  return html`<${Card} title="Preview" right=${html`<span class="live">as you type</span>`} flush className="sticky preview">
    <p class="words">${sentence(f, body)}</p><div role="status" aria-live="polite" class="vh">${known ? `Next fire ${moment(fires[0].time)}` : ""}</div>
    ${recurs && error && f[f.when].trim() && html`<p class="pad t-fail"><${Said} text=${error.message} /></p>`}
    ${
      known &&
      html`<div class="pad"><${Day} fires=${fires} zone=${zone} /></div><${FireTable} fires=${fires.slice(0, SHOWN)} zone=${zone} /><${NextNote} fires=${fires} shown=${SHOWN} zone=${zone} />
      ${example && html`<p class="fine">H is chosen for each job by its id; this is an example: <code>${example}</code></p>`}<${Herd} fires=${fires} />`
    }
    ${recurs && !error && !known && !preview.loading && f[f.when].trim() && html`<p class="pad faint">This schedule never fires.</p>`}
    <div class="pad"><${CopyAs} calls=${COPY.create(body)} /></div><//>`;
}
