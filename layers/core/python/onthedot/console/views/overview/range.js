// @ts-check
// The figures of the range that the reader chose: the hour is in the overview, other ranges are statistics.
import { usePoll } from "../../lib/poll.js";
import { ms, nowMs } from "../../lib/time.js";

/** step: seconds of one point; unit: the time of a point, in words. */
export const RANGES = [
  { id: "15m", label: "15 min", words: "15 min", seconds: 900, step: 60, unit: "a minute" },
  { id: "1h", label: "1 h", words: "hour", seconds: 3600, step: 60, unit: "a minute" },
  { id: "24h", label: "24 h", words: "24 h", seconds: 86_400, step: 300, unit: "in 5 minutes" },
  { id: "7d", label: "7 d", words: "7 days", seconds: 604_800, step: 3600, unit: "an hour" },
];

/** Ends of runs are counted some seconds after them, so a step is complete a little later than its end. */
const SETTLE_MS = 15_000;

/** Return {points, total, lateness, bounds} of the range, {error} when it cannot be read, or null while it is not known. */
export function useRange(range, data) {
  const isHour = range.id === "1h";
  const query = () => {
    const end =
      Math.floor(nowMs() / (range.step * 1000)) * range.step * 1000 + (range.step > 60 ? range.step * 1000 : 0);
    return {
      from: new Date(end - range.seconds * 1000).toISOString(),
      to: new Date(end).toISOString(),
      step: range.step,
    };
  };
  const poll = usePoll(isHour ? null : "statistics", query, { every: 30_000, key: range.id });
  if (isHour && data?.unknown?.includes("hour"))
    return { error: "The runs of the last hour are unavailable right now." };
  if (!isHour && poll.error && !poll.data) return { error: poll.error.message };
  if (isHour)
    return data?.hour
      ? figures(data.hour.minutes ?? [], data.hour, data.hour.bounds_ms, range.step, ms(data.time))
      : null;
  return poll.data
    ? figures(poll.data.steps, poll.data.total, poll.data.bounds_ms, poll.data.step_seconds, poll.at)
    : null;
}

const ended = (each) => each.succeeded + each.failed + each.skipped + each.cancelled;

/** A step that was not complete when the API answered, at `at`, is not drawn: it would look like a fall. The total has it. */
function figures(steps, total, bounds, seconds, at) {
  const complete = steps.filter((each) => ms(each.time) + seconds * 1000 + SETTLE_MS <= at);
  const points = complete.map((each) => ({
    time: each.time,
    value: ended(each),
    failed: each.failed,
    retries: each.retries,
  }));
  return { points, total: { ...total, ended: ended(total) }, lateness: total.lateness, bounds };
}
