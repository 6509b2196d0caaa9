// @ts-check
// Runs past and coming: a slot for each, lateness as height on a logarithmic scale, skipped ones hollow with their reason.
import { html } from "../../lib/html.js";
import { plural, word } from "../../lib/format.js";
import { isRange } from "../../lib/states.js";
import { clock, dayOf, duration, moment, ms, nowMs, utcText, zone } from "../../lib/time.js";
import { Dot } from "../../charts/dots.js";
import { Figure } from "../../charts/figure.js";
import { plainly } from "../../components/said.js";
import { WAITS as WAITS_FOR } from "./rail.js";

const HEIGHT = 178;
const [TOP, BASE, LEFT, SLOT] = [16, 138, 48, 26];
/** @type {[number, string][]} */
const LEVELS = [
  [10, "10 ms"],
  [100, "100 ms"],
  [1000, "1 s"],
  [10_000, "10 s"],
  [60_000, "1 min"],
  [600_000, "10 min"],
  [3_600_000, "1 h"],
  [86_400_000, "1 d"],
];

/** A run that has not started is late already. */
const WAITS = ["PENDING", "DISPATCHED", "WAITING", "RETRYING"];

/** Slots of the past, the oldest first: one for a run, two for a range of skipped fire times. */
function slotsOf(runs, at) {
  return runs.toReversed().flatMap((run) => {
    const slot = {
      id: run.execution_id,
      time: run.fire_time,
      status: run.status,
      late: run.lateness_ms ?? (WAITS.includes(run.status) ? Math.max(0, at - ms(run.fire_time)) : null),
      retried: run.status === "SUCCEEDED" && run.attempts?.length > 1,
      reason: run.reason,
    };
    return isRange(run) && run.count > 1
      ? [
          { ...slot, opens: run },
          { ...slot, time: run.until },
        ]
      : [isRange(run) ? { ...slot, opens: run } : slot];
  });
}

const titleOf = (slot) =>
  `${moment(slot.time)} · ${slot.status === "COMING" ? "coming" : word(slot.status)}${slot.late > 0 ? `, ${duration(slot.late)} late` : ""}${slot.reason ? `: ${plainly(slot.reason)}` : ""}${slot.note ? `; ${slot.note}` : ""} · ${utcText(slot.time)}`;

function scale(slots) {
  const top = Math.max(1000, ...slots.map((slot) => slot.late ?? 0));
  const limit = LEVELS.find(([late]) => late >= top)?.[0] ?? top;
  const y = (late) => (late > 1 ? BASE - Math.min(1, Math.log10(late) / Math.log10(limit)) * (BASE - TOP - 12) : BASE);
  const shown = LEVELS.filter(([late]) => late <= limit);
  return { y, levels: shown.length > 4 ? shown.filter((_, place) => (shown.length - 1 - place) % 2 === 0) : shown };
}

/** The time of a slot, with as much of its date as the whole span needs: "02:30", "Sun 25", "25 Oct", "Oct 2026". */
function labelOf(slots) {
  const hours = (ms(slots.at(-1)?.time) - ms(slots[0]?.time)) / 3_600_000;
  const part = (from, to) => (slot) => dayOf(slot.time).split(" ").slice(from, to).join(" ");
  if (!(hours > 36)) return (slot) => clock(slot.time, { seconds: false });
  return hours < 25 * 24 ? part(0, 2) : hours < 330 * 24 ? part(1, 3) : part(2, 4);
}

/** One label in some slots, so that none covers another. What is overdue has one. */
function labels(slots, x) {
  const text = labelOf(slots);
  const found = [];
  for (const [place, slot] of slots.entries()) {
    const free = () => x(place) - (found.length ? x(found.at(-1)[0]) : -Infinity) >= 54;
    if (slot.status === "OVERDUE" && !free()) found.pop();
    if (free()) found.push([place, text(slot)]);
  }
  return found;
}

/** The range of skipped fire times, with a bracket over it. */
function Skipped({ slot, place, x }) {
  const { count, reason } = slot.opens;
  const to = count > 1 ? x(place + 1) : x(place);
  const [left, right] = [x(place) - 9, to + 9];
  return html`<path class="band" d=${`M${left} ${BASE - 12}v-6H${right}v6`} /><text class="c" x=${(left + right) / 2} y=${BASE - 23}>${(reason ?? "skipped").length > 14 ? `${count} skipped` : (reason ?? "skipped")}</text>`;
}

/** The days that are shown, and the zone. A narrow figure has room for the first and the zone only. */
function spanOf(slots, width) {
  if (!slots.length) return `times in ${zone.value}`;
  const [from, to] = [dayOf(slots[0].time), dayOf(slots.at(-1).time)];
  return `${from === to || width < 420 ? from : `${from} to ${to}`}, times in ${zone.value}`;
}

/** The slot of a fire that was not taken. Its height is how late it is already. */
const dueSlot = (time, at) => ({ time, status: "OVERDUE", late: Math.max(0, at - ms(time)), reason: WAITS_FOR });

/** runs: latest first, as the API lists them; coming: fires of the preview; overdue: the time of a fire that was not taken; `chosen`: the id of a run; onChoose(id). */
export function Timeline({ runs, coming, overdue, chosen, onChoose }) {
  const past = [...slotsOf(runs, nowMs()), ...(overdue ? [dueSlot(overdue, nowMs())] : [])];
  const counts = Object.entries(
    runs.reduce((found, run) => ({ ...found, [run.status]: (found[run.status] ?? 0) + (run.count ?? 1) }), {}),
  ).map(([status, n]) => `${n} ${word(status).toLowerCase()}`);
  const noted = coming.find((fire) => fire.note);
  const label = `Runs, height is lateness on a log scale. ${runs.length ? `Of the latest, ${counts.join(", ")}.` : "No run yet."} ${overdue ? `The fire of ${moment(overdue)} is overdue, ${WAITS_FOR}.` : ""} ${coming.length ? `${plural(coming.length, "fire")} to come${noted ? `; on ${moment(noted.time)}: ${noted.note}` : ""}.` : ""}`;
  const table = {
    head: ["Fire time", "State", "Lateness", "Reason"],
    rows: [
      ...past
        .toReversed()
        .map((slot) => [
          moment(slot.time),
          word(slot.status),
          slot.late == null ? "–" : duration(slot.late),
          plainly(slot.reason),
        ]),
      ...coming.map((fire) => [moment(fire.time), "Coming", "–", fire.note ?? ""]),
    ],
  };
  return html`<${Figure} label=${label} height=${HEIGHT} table=${table} draw=${(width) => {
    const room = Math.max(6, Math.floor((width - LEFT - 24) / SLOT));
    const ahead = coming
      .slice(0, Math.max(Math.min(coming.length, 2), Math.min(coming.length, Math.round(room * 0.3))))
      .map((fire) => ({ ...fire, status: "COMING" }));
    const behind = past.slice(-Math.max(1, room - ahead.length));
    const slots = [...behind, ...ahead];
    const step = Math.min(72, (width - LEFT - 16) / Math.max(1, slots.length));
    const x = (place) => LEFT + step * (place + 0.5);
    const nowX = LEFT + step * behind.length + (behind.length ? 0 : 2);
    const { y, levels } = scale(behind);
    const flag = ahead.findIndex((slot) => slot.note);
    return html`${ahead.length > 0 && html`<rect class="bar-well" x=${nowX} y="8" width=${Math.max(0, width - nowX)} height=${BASE - 2} />`}
      ${levels.map(([late, name]) => html`<path class="gr" d=${`M${LEFT} ${y(late)}H${nowX}`} /><text class="e" x=${LEFT - 8} y=${y(late) + 4}>${name}</text>`)}
      <path class="base" d=${`M${LEFT} ${BASE}H${nowX}`} /><path class="base dash" d=${`M${nowX} ${BASE}H${width}`} /><text class="e" x=${LEFT - 8} y=${BASE + 4}>on time</text>
      ${flag >= 0 && html`<path class="tick" d=${`M${x(behind.length + flag)} 40V${BASE - 6}`} /><text class=${x(behind.length + flag) > width - 130 ? "e strong" : "strong"} x=${x(behind.length + flag) + (x(behind.length + flag) > width - 130 ? 4 : -2)} y="34">clocks change</text>`}
      ${behind.map((slot, place) => slot.opens && html`<${Skipped} slot=${slot} place=${place} x=${x} />`)}
      ${slots.map(
        (
          slot,
          place,
        ) => html`<g class=${onChoose && slot.id && slot.status !== "SKIPPED" ? "pickable" : ""} onClick=${() => slot.id && onChoose?.(slot.id)}>
        <rect class="hit" x=${x(place) - step / 2} y=${TOP} width=${step} height=${BASE - TOP + 10} />
        ${slot.late > 1 && html`<path class=${`stem thin ${["FAILED", "OVERDUE"].includes(slot.status) ? "fail" : slot.retried || slot.status === "RETRYING" ? "late" : ""}`} d=${`M${x(place)} ${BASE}V${y(slot.late)}`} />`}
        ${slot.id === chosen && chosen && html`<circle class=${slot.status === "FAILED" ? "sel" : "sel ok"} cx=${x(place)} cy=${y(slot.late ?? 0)} r="9" />`}
        <${Dot} status=${slot.status} retried=${slot.retried} x=${x(place)} y=${y(slot.late ?? 0)} r=${slot.status === "COMING" ? 3 : 4} title=${titleOf(slot)} /></g>`,
      )}
      ${labels(slots, x).map(([place, text]) => html`<text class=${slots[place].id === chosen ? "c strong" : "c"} x=${x(place)} y=${BASE + 20}>${text}</text>`)}
      <path class="now" d=${`M${nowX} 8V${BASE + 4}`} /><text class=${nowX > 60 ? "e strong" : "strong"} x=${nowX > 60 ? nowX - 6 : nowX + 6} y="14">now</text>
      <text x=${LEFT} y=${HEIGHT - 2}>${spanOf(slots, width)}</text>`;
  }} />`;
}
