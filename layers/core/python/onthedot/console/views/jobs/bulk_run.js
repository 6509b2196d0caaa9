// @ts-check
// Act on many jobs: count first, then in steps that can be stopped, and remember what was done for the way back.
import { ApiError, get, post } from "../../lib/api.js";
import { plural } from "../../lib/format.js";

const STEP = 100;
const MOST_COUNTED = 10;
/** So many ids are kept for the way back. */
const MOST_KEPT = 20_000;
const MOST_FAILURES = 50;
const ENDED = ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "COMPLETED"];

/** The actions: words, whether a job would be acted on, and why not, and the action that takes it back. */
export const ACTIONS = {
  run: {
    label: "Run now",
    verb: "Run",
    doing: "Running",
    done: "started",
    icon: "play",
    acts: () => true,
    note: "Each gets one extra run; schedules stay as they are.",
  },
  pause: {
    label: "Pause",
    verb: "Pause",
    doing: "Pausing",
    done: "paused",
    icon: "pause",
    acts: (job) => job.status !== "PAUSED",
    left: (n) => `${n} ${n === 1 ? "is" : "are"} already paused`,
    note: "Runs that have started continue.",
    back: "resume",
  },
  resume: {
    label: "Resume",
    verb: "Resume",
    doing: "Resuming",
    done: "resumed",
    acts: (job) => job.status === "PAUSED",
    left: (n) => `${n} ${n === 1 ? "is" : "are"} not paused`,
    note: "Each job’s misfire policy decides about the fires it missed.",
    back: "pause",
  },
  cancel: {
    label: "Cancel",
    verb: "Cancel",
    doing: "Cancelling",
    done: "cancelled, or asked to stop if running",
    danger: true,
    acts: (job) => !ENDED.includes(job.status),
    left: (n) => `${n} ${n === 1 ? "has" : "have"} ended`,
    note: "This cannot be undone.",
  },
  delete: {
    label: "Delete",
    verb: "Delete",
    doing: "Deleting",
    done: "deleted",
    danger: true,
    acts: () => true,
    note: "Their history is deleted too. This cannot be undone.",
  },
};

/** What an action would do: {matched, acts, text}. `scope` is {jobs: [...]} or {filter}. `acts` is null when it is not exact. */
export async function dryRun(action, scope) {
  const { acts, left, verb } = ACTIONS[action];
  if (scope.jobs) {
    const ids = scope.jobs.map((job) => job.job_id);
    const step = await post("jobs/bulk", { action, ids, dry_run: true });
    const gone = new Set(step.failures.map((each) => each.id));
    const known = scope.jobs.filter((job) => !gone.has(job.job_id));
    const able = known.filter(acts).length;
    return {
      matched: known.length,
      acts: able,
      more: false,
      text: [
        `${known.length} match.`,
        told(verb, able, known.length - able, left),
        gone.size ? `${plural(gone.size, "no longer exists", "no longer exist")}.` : "",
      ]
        .filter(Boolean)
        .join(" "),
    };
  }
  const all = await counted(action, scope.filter);
  const paused =
    ["pause", "resume"].includes(action) && !scope.filter.status
      ? await counted(action, { ...scope.filter, status: "PAUSED" })
      : null;
  const able =
    paused === null || all.more || paused.more
      ? all.matched
      : action === "pause"
        ? all.matched - paused.matched
        : paused.matched;
  const size = `${all.matched.toLocaleString("en-US")}${all.more ? " or more" : ""} match.`;
  return {
    matched: all.matched,
    acts: able,
    more: all.more,
    text:
      paused && !all.more
        ? `${size} ${told(verb, able, all.matched - able, left)}`
        : action === "cancel"
          ? `${size} Those that have ended stay as they are.`
          : size,
  };
}

const told = (verb, able, rest, left) =>
  `${able.toLocaleString("en-US")} would ${verb.toLowerCase()}${rest ? `, ${left?.(rest) ?? `${rest} would not`}` : ""}.`;

/** The API refuses an empty filter, so that none acts on all jobs by mistake: the three kinds together are all jobs. */
export const filters = (filter) =>
  Object.keys(filter).length ? [filter] : ["recurring", "one-off", "event"].map((kind) => ({ kind }));

async function counted(action, filter) {
  let [matched, calls, more] = [0, 0, false];
  for (const one of filters(filter)) {
    let cursor = null;
    do {
      if (calls >= MOST_COUNTED) {
        more = true;
        break;
      }
      const step = await post("jobs/bulk", { action, filter: one, dry_run: true, ...(cursor ? { cursor } : {}) });
      matched += step.matched;
      cursor = step.next_cursor;
      calls += 1;
    } while (cursor);
  }
  return { matched, more };
}

/** Act. `tell` gets {done, failed, failures, seen, ids} after each step; `stopped()` is asked before each. Throw ApiError. */
export async function act(action, scope, tell, stopped) {
  const state = { done: 0, failed: 0, failures: [], seen: 0, ids: [], forgot: false };
  const names = new Map();
  const step = async (jobs) => {
    for (const job of jobs) names.set(job.job_id, job.name ?? job.job_id);
    const wanted = jobs.filter(ACTIONS[action].acts).map((job) => job.job_id);
    state.seen += jobs.length - wanted.length;
    let cursor = null;
    do {
      if (!wanted.length || stopped()) return;
      const answer = await post("jobs/bulk", { action, ids: wanted, ...(cursor ? { cursor } : {}) });
      const bad = new Set(answer.failures.map((each) => each.id));
      const first = state.acted ?? 0;
      const upTo = answer.next_cursor ? first + answer.done + answer.failed : wanted.length;
      const good = wanted.slice(first, upTo).filter((id) => !bad.has(id));
      state.acted = upTo;
      state.done += answer.done;
      state.failed += answer.failed;
      state.seen += answer.done + answer.failed;
      state.failures = [
        ...state.failures,
        ...answer.failures.map((each) => ({ ...each, name: names.get(each.id) })),
      ].slice(0, MOST_FAILURES);
      if (state.ids.length + good.length <= MOST_KEPT) state.ids.push(...good);
      else state.forgot = true;
      tell({ ...state });
      cursor = answer.next_cursor;
    } while (cursor);
    state.acted = 0;
    names.clear();
  };
  for await (const jobs of scope.jobs ? chunks(scope.jobs) : pages(scope.filter)) {
    if (stopped()) break;
    state.acted = 0;
    await step(jobs);
  }
  return { ...state };
}

export function* chunks(jobs) {
  for (let first = 0; first < jobs.length; first += STEP) yield jobs.slice(first, first + STEP);
}

async function* pages(filter) {
  let cursor = null;
  do {
    const page = await get("jobs", { ...filter, limit: STEP, cursor });
    if (page.jobs.length) yield page.jobs;
    cursor = page.next_cursor;
  } while (cursor);
}

export const asError = (error) =>
  error instanceof ApiError ? error : new ApiError(0, "error", String(error?.message ?? error));
