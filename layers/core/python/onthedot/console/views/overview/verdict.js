// How the runs are, in few words. What holds runs up is of now; all else is of the range that the reader chose.
import { count, plural } from "../../lib/format.js";

const TITLES = { on_time: "On the dot", late: "Late", failing: "Runs fail", held_up: "Runs are held up", idle: "Nothing runs", skipped: "All runs were skipped", none_made: "No run was made" };
/** The same bounds as the summary of the API has for the last hour. */
const LATE_MS = 5000;
const FAILING_SHARE = 0.05;

function stateOf({ succeeded, failed, skipped, ended }, lateness) {
  if (failed && failed >= FAILING_SHARE * (succeeded + failed)) return "failing";
  if (lateness?.p99_ms > LATE_MS) return "late";
  if (!ended) return "idle";
  if (succeeded) return "on_time";
  return skipped === ended ? "skipped" : "none_made";
}

function sentence(total, range) {
  if (!total.ended) return `No run ended in the last ${range.words}.`;
  const others = ["failed", "skipped", "cancelled"].filter((name) => total[name]).map((name) => `${count(total[name])} ${name}`);
  return `${[`${plural(total.ended, "run")} in the last ${range.words}`, ...others].join(", ")}.`;
}

/** {title, message, mark}: `figures` of the range, null while they are not known. mark: "good", "bad", or "none" when no run was made. */
export function verdict({ summary }, figures, range) {
  const isOfNow = !figures?.total || summary?.state === "held_up";
  const state = isOfNow ? summary?.state : stateOf(figures.total, figures.lateness);
  const message = isOfNow || range.id === "1h" ? summary?.message : sentence(figures.total, range);
  const mark = ["skipped", "none_made"].includes(state) ? "none" : ["on_time", "idle", undefined].includes(state) ? "good" : "bad";
  return { title: TITLES[state] ?? "Overview", message, mark };
}
