// @ts-check
// The next fires of a schedule, in both clocks, with notes where clocks change.
import { html, useEffect, useState } from "../../lib/html.js";
import { ApiError, post } from "../../lib/api.js";
import { clock, dayOf, ms, now, nowMs, utcText, wholeDuration, zone } from "../../lib/time.js";
import { Icon } from "../../components/marks.js";
import { Said } from "../../components/said.js";

const SCHEDULE = ["cron", "every", "timezone", "dst", "start_at", "end_at", "jitter_seconds"];
const WAIT_MS = 250;

/** The fields of a schedule, without those that are not given. */
export const scheduleOf = (fields) =>
  Object.fromEntries(
    SCHEDULE.filter((name) => fields[name] !== undefined && fields[name] !== null).map((name) => [name, fields[name]]),
  );

/** Preview a schedule: {fires, example, error, loading}. It waits until the reader stops typing. `at`: a change of it asks again. */
export function usePreview(schedule, { count = 200, at = "", wait = WAIT_MS } = {}) {
  const id = schedule && JSON.stringify([schedule, at]);
  const [state, setState] = useState(/** @type {any} */ ({ id: null, fires: [] }));
  useEffect(() => {
    if (!id) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await post("schedules/preview", { ...schedule, count }, { signal: controller.signal });
        setState({ id, fires: answer.fire_times, example: answer.example, error: null });
      } catch (error) {
        if (error.name !== "AbortError")
          setState({
            id,
            fires: [],
            error: error instanceof ApiError ? error : new ApiError(0, "error", String(error)),
          });
      }
    }, wait);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [id]);
  if (!id) return { fires: [], error: null, loading: false };
  return { ...state, loading: state.id !== id };
}

const yearOf = (time, zoneOf) => dayOf(time, zoneOf).split(" ").at(-1);
const isThisYear = (time, zoneOf) => yearOf(time, zoneOf) === yearOf(nowMs(), zoneOf);
/** "Sun 25 Oct", with the year when it is another one. */
const shortDay = (time, zoneOf) =>
  isThisYear(time, zoneOf) ? dayOf(time, zoneOf).replace(/ \d+$/, "") : dayOf(time, zoneOf);

/** Whether a note is about a day before that of its fire: clocks jumped over a time, and it was skipped. */
function isBefore(fire, zoneOf) {
  const day = /\d{4}-\d\d-\d\d/.exec(fire.note ?? "")?.[0];
  return day !== undefined && dayOf(`${day}T12:00:00Z`, "UTC") !== dayOf(fire.time, zoneOf);
}

const Note = ({ text, columns }) =>
  html`<tr class="note"><td colspan=${columns}><${Icon} name="clock" /><span><${Said} text=${text} /></span></td></tr>`;

/** The time until a fire. In another year, the row has no room for two units. */
const until = (time, zoneOf) =>
  ms(time) > now.value ? wholeDuration(ms(time) - now.value, { units: isThisYear(time, zoneOf) ? 2 : 1 }) : "now";

const abbreviations = new Map();
/** "CET", or "GMT+1" where a zone has no short name. */
function abbreviation(time, zoneOf) {
  if (!abbreviations.has(zoneOf))
    abbreviations.set(zoneOf, new Intl.DateTimeFormat("en-GB", { timeZone: zoneOf, timeZoneName: "short" }));
  return (
    abbreviations
      .get(zoneOf)
      .formatToParts(new Date(ms(time)))
      .find((part) => part.type === "timeZoneName")?.value ?? ""
  );
}

/** The second clock: the reader's, or UTC where that is the schedule's own. */
const otherZone = (own) => (zone.value !== own ? zone.value : own === "UTC" ? null : "UTC");

const placeOf = (name) => name.split("/").at(-1).replaceAll("_", " ");

/** A table of fires: `fires` of the API, `zone` of the schedule. A note stands under its fire, or before it when it is about an earlier day. */
export function FireTable({ fires, zone: own = "UTC" }) {
  const other = otherZone(own);
  const columns = other ? 4 : 3;
  return html`<table class="tbl fires"><caption class="vh">Next fires in both clocks</caption>
    <thead><tr><th scope="col">Day</th><th scope="col">${placeOf(own)}</th>${other && html`<th scope="col">${placeOf(other)}</th>`}<th scope="col" class="num">In</th></tr></thead>
    <tbody>${fires.map(
      (
        fire,
      ) => html`${isBefore(fire, own) && html`<${Note} text=${fire.note} columns=${columns} />`}<tr class=${fire.note && !isBefore(fire, own) ? "has" : null} title=${utcText(fire.time)}><td class="nowrap">${shortDay(fire.time, own)}</td><td class="nowrap"><b>${clock(fire.time, { zone: own })}</b> <span class="faint">${abbreviation(fire.time, own)}</span></td>
      ${other && html`<td class="faint nowrap">${clock(fire.time, { zone: other })}</td>`}<td class="num faint nowrap">${until(fire.time, own)}</td></tr>
      ${fire.note && !isBefore(fire, own) && html`<${Note} text=${fire.note} columns=${columns} />`}`,
    )}</tbody></table>`;
}

/** The first note after the fires that are shown. */
export function NextNote({ fires, shown, zone: own = "UTC" }) {
  const later = fires.slice(shown).find((fire) => fire.note && !/jitter/i.test(fire.note));
  return later
    ? html`<p class="fine">Next change after that: ${isBefore(later, own) ? "" : `${dayOf(later.time, own)}. `}<${Said} text=${later.note} /></p>`
    : null;
}
