// @ts-check
// Times in the reader's zone, UTC on hover. The clock is the server's: a wrong clock of the reader moves nothing.
import { computed, signal } from "./html.js";

const KEPT = "onthedot.utc";
const offset = signal(0);
const beat = signal(Date.now());

/** Whether times are shown in UTC. The key U toggles it. */
export const utc = signal(localStorageItem(KEPT) === "1");

/** Now in ms, by the server's clock; it changes each second while the page is visible. */
export const now = computed(() => beat.value + offset.value);

/** Now in ms, exactly, without a subscription. */
export const nowMs = () => Date.now() + offset.peek();

/** The reader's IANA zone, or UTC. */
export const zone = computed(() => (utc.value ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"));

/** The last part of the zone: "Berlin". */
export const zoneName = computed(() => zone.value.split("/").at(-1).replaceAll("_", " "));

setInterval(() => !document.hidden && (beat.value = Date.now()), 1000);
document.addEventListener("visibilitychange", () => !document.hidden && (beat.value = Date.now()));

/** Learn the server's clock from the `time` of an answer. Differences below 2 s are delay, not error. */
export function learnClock(time) {
  const difference = ms(time) - Date.now();
  if (Number.isFinite(difference)) offset.value = Math.abs(difference) < 2000 ? 0 : difference;
}

export function toggleUtc() {
  utc.value = !utc.value;
  try {
    localStorage.setItem(KEPT, utc.value ? "1" : "0");
  } catch {
    // The choice lasts until the page is loaded again.
  }
}

function localStorageItem(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Milliseconds of an RFC 3339 text or a number. NaN when it is none. */
export const ms = (time) => (typeof time === "number" ? time : Date.parse(time));

const formats = new Map();
function parts(time, zoneOf) {
  if (!formats.has(zoneOf)) {
    /** @type {Intl.DateTimeFormatOptions} */
    const fields = {
      weekday: "short",
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
    };
    formats.set(zoneOf, new Intl.DateTimeFormat("en-GB", { ...fields, timeZone: zoneOf }));
  }
  return Object.fromEntries(
    formats
      .get(zoneOf)
      .formatToParts(new Date(ms(time)))
      .map(({ type, value }) => [type, value]),
  );
}

const day = (p) => `${p.day} ${p.month} ${p.year}`;

/** "14:32:18" in a zone. Without seconds: "14:32". */
export function clock(time, { seconds = true, zone: zoneOf = zone.value } = {}) {
  const p = parts(time, zoneOf);
  return `${p.hour}:${p.minute}${seconds ? `:${p.second}` : ""}`;
}

/** "14:32:18" today, "Sun 25 Oct 02:30:00" otherwise, with the year when it is another one. */
export function moment(time, { seconds = true, zone: zoneOf = zone.value } = {}) {
  if (!Number.isFinite(ms(time))) return "–";
  const [p, today] = [parts(time, zoneOf), parts(nowMs(), zoneOf)];
  const hours = clock(time, { seconds, zone: zoneOf });
  if (day(p) === day(today)) return hours;
  return `${p.weekday} ${p.day} ${p.month}${p.year === today.year ? "" : ` ${p.year}`} ${hours}`;
}

/** "Sun 25 Oct 2026", a day in a zone. */
export const dayOf = (time, zoneOf = zone.value) => {
  const p = parts(time, zoneOf);
  return `${p.weekday} ${day(p)}`;
};

/** "2026-10-25 00:30:00 UTC", for titles. */
export function utcText(time) {
  const date = new Date(ms(time));
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** @type {[string, number][]} */
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** "7 ms", "1.4 s", "2 min 18 s", "11 h 57 min", "1 d 17 h". `units`: most units, 2 unless told. */
export function duration(span, { units = 2 } = {}) {
  if (!Number.isFinite(span)) return "–";
  const size = Math.abs(span);
  if (size < 1000) return `${Math.round(size)} ms`;
  if (size < 10_000 && size % 1000 >= 50) return `${(size / 1000).toFixed(1)} s`;
  let rest = Math.round(size / 1000) * 1000;
  const found = [];
  for (const [name, length] of UNITS) {
    if (rest < length && !found.length) continue;
    if (found.length === units) break;
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count || !found.length) found.push(`${count} ${name}`);
    else break;
  }
  return found.join(" ");
}

/** A span without parts of a second: "18 s". */
export const wholeDuration = (span, options) =>
  Math.abs(span) < 1000 ? "0 s" : duration(Math.floor(Math.abs(span) / 1000) * 1000, options);

/** "in 11 h 57 min", "8 min ago", "now". Below an hour, the past needs one unit only. */
export function relative(time, from = now.value) {
  const span = ms(time) - from;
  if (!Number.isFinite(span)) return "–";
  if (Math.abs(span) < 1000) return "now";
  if (span > 0) return `in ${wholeDuration(span)}`;
  return `${wholeDuration(span, { units: span > -3_600_000 ? 1 : 2 })} ago`;
}

/** "Sat 24 Oct 02:30:00.009": a time with its milliseconds. */
export const exact = (time) =>
  time ? `${moment(time)}.${String(((ms(time) % 1000) + 1000) % 1000).padStart(3, "0")}` : "–";
