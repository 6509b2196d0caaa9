// @ts-check
// The coming day as rows of hours: a zone may have hours twice or not at all, and hours that begin at half past UTC.
import { ms } from "../../lib/time.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const formats = new Map();

function fieldsOf(time, zone) {
  if (!formats.has(zone))
    formats.set(
      zone,
      new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        hourCycle: "h23",
        weekday: "short",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "2-digit",
        minute: "2-digit",
      }),
    );
  return Object.fromEntries(
    formats
      .get(zone)
      .formatToParts(new Date(time))
      .map(({ type, value }) => [type, value]),
  );
}

/** The distance of a zone's clock from UTC at an instant, in ms. */
function offsetOf(time, zone) {
  const { year, month, day, hour, minute } = fieldsOf(time, zone);
  return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(time / MINUTE) * MINUTE;
}

/** "CEST", or "GMT+5:30" where the zone has no letters. */
const zoneLetters = (time, zone) =>
  new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" })
    .formatToParts(new Date(time))
    .find(({ type }) => type === "timeZoneName")?.value ?? "";

/** Whether the browser knows a zone. */
export function isZone(name) {
  try {
    return Boolean(name && new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}

/** The next change of a zone's clocks within a time: {time, hours: +1 when clocks go forward, −1 when back}, or null. */
export function clockChange(from, zone, span = 25 * HOUR) {
  const before = offsetOf(from, zone);
  for (let time = from; time <= from + span; time += 15 * MINUTE) {
    const after = offsetOf(time, zone);
    if (after !== before)
      return { time: Math.floor(time / (15 * MINUTE)) * 15 * MINUTE, hours: (after - before) / HOUR };
  }
  return null;
}

/** Minutes from now to the same time of the clock tomorrow: 1,440, or an hour more or less when clocks change. */
export const minutesOfDay = (change) => (change ? Math.min(1500, Math.max(1380, 1440 - change.hours * 60)) : 1440);

/**
 * Rows of hours: [{start, hour: "14:00", day: "Sat" at the first row of a day, letters: "CEST" next to a change, isTwice, cells}].
 * `cells` has 60 places; a place before now, after the end, or in a gap of the clocks is null.
 */
export function rowsOf(minutes, zone) {
  const rows = [];
  let [offset, quarter, day] = [0, null, null];
  for (const each of minutes) {
    const time = ms(each.time);
    if (quarter !== Math.floor(time / (15 * MINUTE)))
      [offset, quarter] = [offsetOf(time, zone), Math.floor(time / (15 * MINUTE))];
    const local = time + offset;
    const start = Math.floor(local / HOUR) * HOUR - offset;
    let row = rows.at(-1);
    if (row?.start !== start) {
      const { weekday, hour } = fieldsOf(start, zone);
      row = {
        start,
        offset,
        hour: `${hour}:00`,
        day: weekday === day ? "" : weekday,
        letters: "",
        cells: Array(60).fill(null),
        runs: 0,
        peak: null,
      };
      day = weekday;
      rows.push(row);
    }
    row.cells[Math.floor((local % HOUR) / MINUTE)] = each;
    row.runs += each.runs;
    if (each.runs > (row.peak?.runs ?? 0)) row.peak = each;
  }
  for (const [place, row] of rows.entries()) {
    const neighbours = [rows[place - 1], rows[place + 1]].filter(Boolean);
    if (neighbours.some((other) => other.offset !== row.offset)) row.letters = zoneLetters(row.start, zone);
    row.isTwice = neighbours.some((other) => other.hour === row.hour && other.offset !== row.offset);
  }
  return rows;
}
