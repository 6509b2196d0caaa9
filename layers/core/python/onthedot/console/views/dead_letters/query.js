// @ts-check
// What is asked for: the range of time and the filters of the address.
import { ms, nowMs } from "../../lib/time.js";

const HOUR = 3_600_000;

export const RANGES = [
  { id: "1h", label: "1 h", words: "hour", ms: HOUR },
  { id: "24h", label: "24 h", words: "24 hours", ms: 24 * HOUR },
  { id: "7d", label: "7 d", words: "7 days", ms: 168 * HOUR },
  { id: "30d", label: "30 d", words: "30 days", ms: 720 * HOUR },
];
export const BY = [
  ["cause", "By cause"],
  ["job", "By job"],
  ["time", "By time"],
];

export const rangeOf = (id) => RANGES.find((each) => each.id === id) ?? RANGES[1];

/** The filters of a call. The time begins at a full minute, so that an answer can stay the same for a while. */
export function asked(range, { name, cause }) {
  const from = Math.floor((nowMs() - range.ms) / 60_000) * 60_000;
  return { from: new Date(from).toISOString(), name: name || undefined, cause: cause || undefined };
}

/** Whether the job of a group can have had further runs: the id of such a run has the fire time after the job's. */
const isRecurring = (group) => group.execution_id !== group.job_id;

const REFUSED = /^HTTP 4(?!08|25|29)\d\d$/;

/**
 * What happened since the latest failure of a group: {tone, text(time)}. tone: "ok" (seems over), "late" (may go on),
 * "fail" (will fail again), "idle" (unknown). `clock` shows a time.
 */
export function verdict(group, clock) {
  const since = clock(group.latest);
  if (group.successes_since > 0)
    return {
      tone: "ok",
      text: `seems over: ${group.successes_since} ${group.successes_since === 1 ? "run" : "runs"} succeeded since ${since}`,
    };
  if (REFUSED.test(group.cause))
    return { tone: "fail", text: "likely to fail again: the target rejected the request itself" };
  if (!isRecurring(group))
    return {
      tone: "idle",
      text: group.jobs > 1 ? "unknown: these jobs run only once" : "unknown: the job runs only once",
    };
  if (group.count > 1 && ms(group.latest) > ms(group.oldest))
    return { tone: "late", text: `no run has succeeded since ${since}` };
  return { tone: "idle", text: `unknown: no run has succeeded since ${since}` };
}

// What the reader chose: whole groups, and single runs next to them.

/** groups: {key: {filter, count, label}}; runs: Set of ids of executions. */
export const NOTHING = { groups: {}, runs: new Set() };

export const isNothing = ({ groups, runs }) => !Object.keys(groups).length && !runs.size;

/** Choose or leave a group. Its single runs are part of it. */
export function toggleGroup(chosen, key, group, runIds = []) {
  const { [key]: had, ...groups } = chosen.groups;
  const runs = new Set([...chosen.runs].filter((id) => !runIds.includes(id)));
  return { groups: had ? groups : { ...groups, [key]: group }, runs };
}

/** Choose or leave one run. When its group is chosen, the other runs that are shown stay chosen. */
export function toggleRun(chosen, id, key, shown) {
  const { [key]: had, ...groups } = chosen.groups;
  const runs = new Set(chosen.runs);
  if (had) shown.filter((each) => each !== id).forEach((each) => runs.add(each));
  else if (!runs.delete(id)) runs.add(id);
  return { groups, runs };
}

/** The number of runs that are chosen, as far as it is known. */
export const sizeOf = ({ groups, runs }) => Object.values(groups).reduce((sum, each) => sum + each.count, runs.size);

/** The bodies of the calls that run them again: one for each group, and one for the single runs. */
export function bodies({ groups, runs }, base) {
  const whole = Object.values(groups).map((group) => clean({ ...base, ...group.filter }));
  return runs.size ? [...whole, { ids: [...runs] }] : whole;
}

const clean = (body) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== ""));
