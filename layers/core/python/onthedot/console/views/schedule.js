// @ts-check
// The view *Schedule*: the coming day, the minutes that hold too much, and what jitter would do.
import { html, useState } from "../lib/html.js";
import { COPY } from "../lib/copy_as.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { href, setQuery } from "../lib/router.js";
import { overview } from "../lib/session.js";
import { clock, dayOf, moment, ms, now, nowMs, zone as ownZone } from "../lib/time.js";
import { useWidth } from "../charts/figure.js";
import { Button, Card, CopyAs, Head, Segments } from "../components/bits.js";
import { Empty, Loading, Polled } from "../components/states.js";
import { tell } from "../components/toast.js";
import { clockChange, isZone, minutesOfDay, rowsOf } from "./schedule/calendar.js";
import { Heat, HeatLegend, Hours } from "./schedule/heat.js";
import { herdsOf, thresholdOf } from "./schedule/herds.js";
import { Herds, Jitter, Who } from "./schedule/rail.js";

export const title = () => "Schedule";

const NARROW = 620;
const EVERY_MS = 30_000;
const cityOf = (zone) => zone.split("/").at(-1).replaceAll("_", " ");

export default function View({ route }) {
  const { query } = route;
  const zone = isZone(query.tz) ? query.tz : ownZone.value;
  const range = query.range === "6h" ? "6h" : "1d";
  const change = clockChange(Math.floor(nowMs() / 60_000) * 60_000, zone);
  const asked = range === "6h" ? 360 : minutesOfDay(change);
  const poll = usePoll("forecast", { minutes: asked }, { every: EVERY_MS });
  const [shown, setShown] = useState(false);
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const zones = [...new Set([local, zone, "UTC"])].map((each) => ({
    href: href("/schedule", { ...query, tz: each }),
    label: cityOf(each),
    current: each === zone,
  }));
  const ranges = [
    ["6h", "6 h"],
    ["1d", "Day"],
  ].map(([id, label]) => ({ href: href("/schedule", { ...query, range: id }), label, current: id === range }));
  const threshold = poll.data && thresholdOf(poll.data.minutes, overview.value?.limits?.per_second);
  return html`<${Head} title="Schedule" lead=${poll.data && lead(poll.data, threshold, range, change, zone)}><${Segments} label="Zone" choices=${zones} /><${Segments} label="Range" choices=${ranges} />
      <${Button} icon="term" aria-expanded=${String(shown)} onClick=${() => setShown(!shown)}>Show as<//><//>
    ${shown && html`<div class="card showas"><div class="pad"><${CopyAs} calls=${COPY.forecast(asked)} /></div></div>`}
    <${Polled} poll=${poll} loading=${html`<${Card} title="Runs due in each minute"><${Loading} rows=${12} /><//>`}>${(
      data,
    ) =>
      data.minutes.some((each) => each.runs)
        ? html`<${Day} ...${{ data, zone, threshold, query }} />`
        : html`<${Empty} title="No run is due" text=${`No job fires in the coming ${range === "6h" ? "six hours" : "day"}.`}><a class="btn" href="#/jobs">All jobs</a><//>`}<//>`;
}

function lead(data, threshold, range, change, zone) {
  const runs = data.minutes.reduce((sum, each) => sum + each.runs, 0);
  const herds = herdsOf(data.minutes, threshold).length;
  const end = ms(data.minutes.at(-1)?.time);
  const parts = [
    `${count(runs)} ${runs === 1 ? "run is" : "runs are"} due in the coming ${range === "6h" ? "six hours" : "day"}.`,
  ];
  parts.push(
    `${herds ? plural(herds, "minute") : "No minute"} ${herds > 1 ? "hold" : "holds"} more than ${threshold.isLimit ? "the limit" : `${plural(threshold.value, "run")}${threshold.usual * 2 === threshold.value ? ", twice the usual" : ""}`}`,
  );
  if (change && change.time <= end)
    parts[1] += `; the day has ${24 - change.hours} hours, because clocks go ${change.hours > 0 ? "forward" : "back"} at ${moment(change.time, { seconds: false, zone })}`;
  if (data.complete_until) parts.push(`Counted in full until ${moment(data.complete_until, { seconds: false, zone })}`);
  else if (data.truncated) parts.push("Not all runs were counted");
  return `${parts
    .join(" ")
    .replace(/\.? Counted/, ". Counted")
    .replace(/\.? There are/, ". There are")}.`;
}

function Day({ data, zone, threshold, query }) {
  const [place, width] = useWidth(860);
  const { minutes } = data;
  const rows = rowsOf(minutes, zone);
  const name = (time) => `${dayOf(time, zone).slice(0, 3)} ${clock(time, { seconds: false, zone })}`;
  const wanted = minutes.findIndex((each) => each.time === query.at);
  const chosen =
    wanted >= 0
      ? wanted
      : Math.max(
          0,
          minutes.indexOf(
            herdsOf(minutes, threshold)[0] ?? minutes.reduce((best, each) => (each.runs > best.runs ? each : best)),
          ),
        );
  const onPick = (index) => {
    setQuery({ at: minutes[index].time });
    tell(`${name(minutes[index].time)}: ${plural(minutes[index].runs, "run")}`);
  };
  const largest = minutes.reduce((best, each) => (each.runs > best.runs ? each : best));
  const label = `Runs due in each minute; ${plural(herdsOf(minutes, threshold).length, "minute")} above ${count(threshold.value)}, the largest ${name(largest.time)} with ${count(largest.runs)}`;
  const parts = { rows, minutes, threshold, chosen, onPick, name };
  return html`<div class="grid cols-rail-s sched"><${Card} title="Runs due in each minute" hint=${cityOf(zone)} right=${width >= NARROW ? html`<${HeatLegend} threshold=${threshold} />` : null}>
      <div ref=${place}>${width < NARROW ? html`<${Hours} ...${parts} />` : html`<${Heat} ...${{ ...parts, width, label, at: now.value }} />`}</div><//>
    <div class="stack"><${Herds} ...${parts} /><${Jitter} ...${parts} /><${Who} here=${minutes[chosen]} name=${name} zoneName=${`${name(minutes[chosen].time)} ${cityOf(zone)}`} /></div></div>`;
}
