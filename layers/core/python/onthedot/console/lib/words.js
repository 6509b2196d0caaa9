// @ts-check
// A schedule in words. An expression that is not simple stays as it is: half a truth is worse than the expression.
import { clock, duration, moment, nowMs, zone } from "./time.js";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const ALIASES = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};
/** @type {[string, number][]} */
const LENGTHS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];
const ORDINALS = ["", "first", "second", "third", "fourth", "fifth"];

/** "At 02:30 every day", "Every 30 seconds", "Once, at 14:35", "On an event", or the expression itself. */
export function scheduleWords(job) {
  if (job.cron) return cronWords(job.cron);
  if (job.every) return everyWords(job.every);
  if (job.on_event || job.kind === "event") return "On an event";
  if (job.dependencies?.length)
    return `After ${job.dependencies.length === 1 ? "one job" : `${job.dependencies.length} jobs`}`;
  const time = job.at ?? job.fire_time;
  return time ? `Once, at ${moment(time)}` : "Once";
}

/** Schedules that are the same in each zone, as long as its clocks differ by whole hours. */
const ANYWHERE = /^Every (minute|hour|\d+ minutes)$|past every hour$/;

/** The zone of a cron schedule, where its clocks differ from those that the reader sees: "UTC", else "". */
export function otherZoneOf(job) {
  const own = job.timezone ?? "UTC";
  if (!job.cron || own === zone.value || ANYWHERE.test(scheduleWords(job))) return "";
  try {
    return clock(nowMs(), { zone: own }) === clock(nowMs(), { zone: zone.value }) ? "" : own;
  } catch {
    // The browser does not know the zone.
    return own;
  }
}

/** 1800 → "Every 30 minutes". */
export function everyWords(every) {
  const seconds = Number(every);
  if (!Number.isFinite(seconds)) return String(every);
  for (const [name, size] of LENGTHS) {
    if (seconds % size === 0) return seconds === size ? `Every ${name}` : `Every ${seconds / size} ${name}s`;
  }
  return `Every ${duration(seconds * 1000)}`;
}

/** "30 2 * * *" → "At 02:30 every day". */
export function cronWords(expression) {
  const plain = String(expression).trim().toLowerCase().replace(/\s+/g, " ");
  const fields = (ALIASES[plain] ?? plain).replaceAll("?", "*").split(" ");
  if (fields.length !== 5 || plain.startsWith("cron(")) return expression;
  const [minute, hour, day, month, weekday] = fields;
  const time = timeWords(minute, hour);
  const days = dayWords(day, weekday);
  const months = monthWords(month);
  if (time === null || days === null || months === null) return expression;
  const everyDay = days === "" && months === "";
  return `${time}${everyDay ? (time.startsWith("At") ? " every day" : "") : days === "" ? "" : ` ${days}`}${months}`;
}

const isNumber = (text) => /^\d{1,2}$/.test(text);
const two = (text) => String(Number(text)).padStart(2, "0");

function timeWords(minute, hour) {
  if (isNumber(minute) && isNumber(hour)) return `At ${two(hour)}:${two(minute)}`;
  if (isNumber(minute) && /^\d{1,2}(,\d{1,2})+$/.test(hour))
    return `At ${listed(hour.split(",").map((each) => `${two(each)}:${two(minute)}`))}`;
  if (hour === "*" && minute === "*") return "Every minute";
  if (hour === "*" && isNumber(minute)) return Number(minute) ? `${Number(minute)} min past every hour` : "Every hour";
  const step = stepOf(minute, 60);
  if (step && hour === "*") return `Every ${step} minutes`;
  const hours = stepOf(hour, 24);
  if (hours && isNumber(minute))
    return Number(minute) ? `${Number(minute)} min past every ${hours} hours` : `Every ${hours} hours`;
  const range = /^(\d{1,2})-(\d{1,2})$/.exec(hour);
  if (!range) return null;
  const within = `from ${two(range[1])}:${isNumber(minute) ? two(minute) : "00"} to ${two(range[2])}:${isNumber(minute) ? two(minute) : "59"}`;
  if (isNumber(minute)) return `Every hour ${within}`;
  if (minute === "*") return `Every minute ${within}`;
  return step ? `Every ${step} minutes ${within}` : null;
}

/** Only a divisor gives equal distances. */
function stepOf(text, whole) {
  const found = /^(?:\*|0)\/(\d{1,2})$/.exec(text);
  const step = Number(found?.[1]);
  return step > 1 && whole % step === 0 ? step : null;
}

function dayWords(day, weekday) {
  if (day === "*" && weekday === "*") return "";
  if (weekday === "*") {
    if (isNumber(day)) return `on day ${Number(day)} of the month`;
    if (day === "l") return "on the last day of the month";
    if (day === "lw") return "on the last weekday of the month";
    return null;
  }
  return day === "*" ? weekdayWords(weekday) : null;
}

const dayNumber = (text) =>
  isNumber(text) ? Number(text) % 7 : DAYS.findIndex((name) => name.slice(0, 3).toLowerCase() === text);

function weekdayWords(text) {
  const nth = /^(\w+)#(\d)$/.exec(text);
  if (nth) return dayNumber(nth[1]) < 0 ? null : `on the ${ORDINALS[nth[2]]} ${DAYS[dayNumber(nth[1])]} of the month`;
  const last = /^(\d)l$/.exec(text);
  if (last) return `on the last ${DAYS[Number(last[1]) % 7]} of the month`;
  const range = /^(\w+)-(\w+)$/.exec(text);
  if (range) {
    const [from, to] = [dayNumber(range[1]), dayNumber(range[2])];
    return from < 0 || to < 0 ? null : `${DAYS[from]} to ${DAYS[to]}`;
  }
  const numbers = text.split(",").map(dayNumber);
  return numbers.some((number) => number < 0) ? null : `on ${listed(numbers.map((number) => DAYS[number]))}`;
}

function monthWords(text) {
  if (text === "*") return "";
  const names = text
    .split(",")
    .map((each) =>
      isNumber(each) ? MONTHS[Number(each) - 1] : MONTHS.find((name) => name.slice(0, 3).toLowerCase() === each),
    );
  return names.every(Boolean) ? `, in ${listed(names)}` : null;
}

/** ["a", "b", "c"] → "a, b and c". */
export const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/** One line for a target: "POST HOST/PATH", "python send-email". Listed runs have it as text already. */
export function targetWords(target) {
  if (!target || typeof target === "string") return target ?? "–";
  if (target.type === "http") return `${target.method ?? "POST"} ${target.url}`;
  const texts = Object.values(target)
    .flat()
    .filter((value) => typeof value === "string");
  return texts.join(" ");
}

/** The first letter large. */
export const opened = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

/** The first letter large, a full stop at the end. */
export const sentence = (text) => {
  const whole = opened(text);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};
