// One sentence about the queues: what is wrong first, else how they are.
import { count, plural } from "../../lib/format.js";
import { duration } from "../../lib/time.js";

export const WARN_SECONDS = 60;
export const BAD_SECONDS = 300;

const MOST_NAMED = 2;
const upper = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

const named = (each) => `pool ${each.pool}${each.priority ? `, ${each.priority}` : ""}`;

/** `holdUps`: those of GET /v1/overview that name a pool. Messages of the API are shown as they are. */
export function queueSentence(queues, holdUps) {
  const unknown = queues.filter((each) => each.error);
  const old = queues.filter((each) => each.oldest_age_seconds >= WARN_SECONDS).sort((one, other) => other.oldest_age_seconds - one.oldest_age_seconds);
  const told = [
    ...holdUps.filter((each) => each.code !== "queue_old").map((each) => `${upper(each.message)}.`),
    ...old.map((each) => `${upper(named(each))}: ${plural(each.waiting, "run")} of all tenants ${each.waiting === 1 ? "waits" : "wait"}, the oldest for ${duration(each.oldest_age_seconds * 1000)}.`),
    ...unknown.map((each) => `${upper(named(each))} cannot be read now: ${each.error}.`),
  ];
  if (told.length) return `${told.slice(0, MOST_NAMED).join(" ")}${told.length > MOST_NAMED ? ` And ${count(told.length - MOST_NAMED)} more.` : ""}`;
  const sum = (field) => queues.reduce((total, each) => total + (each[field] ?? 0), 0);
  return `Nothing waits for long. Of all tenants: ${plural(sum("waiting"), "run")} waiting, ${count(sum("in_flight"))} in flight, ${count(sum("delayed"))} due soon.`;
}
