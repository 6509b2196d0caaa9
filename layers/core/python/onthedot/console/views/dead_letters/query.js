// What is asked for: the range of time and the filters of the address.
import { ms, nowMs } from "../../lib/time.js";

const HOUR = 3_600_000;

export const RANGES = [
  { id: "1h", label: "1 h", words: "hour", ms: HOUR }, { id: "24h", label: "24 h", words: "24 hours", ms: 24 * HOUR },
  { id: "7d", label: "7 d", words: "7 days", ms: 168 * HOUR }, { id: "30d", label: "30 d", words: "30 days", ms: 720 * HOUR },
];
export const BY = [["cause", "By cause"], ["job", "By job"], ["time", "By time"]];

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
  if (group.successes_since > 0) return { tone: "ok", text: `seems over: ${group.successes_since} ${group.successes_since === 1 ? "run" : "runs"} succeeded since ${since}` };
  if (REFUSED.test(group.cause)) return { tone: "fail", text: "may fail again: the target refused the request itself" };
  if (!isRecurring(group)) return { tone: "idle", text: group.jobs > 1 ? "unknown: these jobs run once" : "unknown: the job runs once" };
  if (group.count > 1 && ms(group.latest) > ms(group.oldest)) return { tone: "late", text: `none succeeded since ${since}` };
  return { tone: "idle", text: `unknown: no success since ${since}` };
}
