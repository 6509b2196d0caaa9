// The jobs that match, read in bounded steps: one call looks at a bounded number of jobs, so a page may need several.
import { useEffect, useRef, useState } from "../../lib/html.js";
import { ApiError, get } from "../../lib/api.js";

export const PAGE = 50;
const MOST_CALLS = 20;
const EVERY_MS = 5000;
const SLOW_MS = 30_000;

/** The filters of the URL that the API knows. */
export const FILTERS = ["name", "status", "kind", "priority", "tag", "workflow"];

export const filterOf = (query) => Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));

/** Read up to PAGE jobs: {jobs, next, unreadable, calls}. `tell` gets what was found so far. */
async function read(filter, cursor, signal, tell) {
  const found = { jobs: [], next: cursor || null, unreadable: [], calls: 0 };
  do {
    const page = await get("jobs", { ...filter, limit: PAGE - found.jobs.length, cursor: found.next }, { signal });
    found.jobs.push(...page.jobs);
    found.unreadable.push(...(page.unreadable ?? []));
    found.next = page.next_cursor;
    found.calls += 1;
    if (found.next && found.jobs.length < PAGE) tell({ ...found, jobs: [...found.jobs] });
  } while (found.next && found.jobs.length < PAGE && found.calls < MOST_CALLS);
  return found;
}

/**
 * Keep a page of jobs up to date while the tab is visible.
 * Return {data: {jobs, next, unreadable} | null, searching, error, stale, at, refresh}.
 */
export function useJobs(filter, cursor) {
  const id = JSON.stringify([filter, cursor ?? ""]);
  const [state, setState] = useState({ id: null });
  const handle = useRef(null);
  useEffect(() => {
    handle.current = keep(filter, cursor, (next) => setState((before) => ({ ...(before.id === id ? before : {}), id, ...next })));
    return handle.current.stop;
  }, [id]);
  const { data = null, error = null, searching = true, at = null, nextTry = null } = state.id === id ? state : {};
  return { data, error, searching: searching && !error, at, nextTry, stale: Boolean(data && error), refresh: () => handle.current?.refresh() };
}

function keep(filter, cursor, tell) {
  let [timer, controller, stopped, known] = [null, null, false, false];
  const plan = (wait) => {
    clearTimeout(timer);
    if (!stopped && !document.hidden) timer = setTimeout(run, wait);
  };
  async function run() {
    clearTimeout(timer);
    if (stopped || controller) return;
    controller = new AbortController();
    try {
      const found = await read(filter, cursor, controller.signal, (part) => !known && tell({ data: part, searching: true, error: null, at: Date.now() }));
      if (stopped) return;
      known = true;
      tell({ data: found, searching: false, error: null, at: Date.now() });
      plan(found.calls > 2 ? SLOW_MS : EVERY_MS);
    } catch (error) {
      if (stopped || error.name === "AbortError") return;
      tell({ searching: false, error: error instanceof ApiError ? error : new ApiError(0, "error", String(error)), nextTry: Date.now() + SLOW_MS });
      if (error.status !== 401) plan(SLOW_MS);
    } finally {
      controller = null;
    }
  }
  const onVisibility = () => (document.hidden ? clearTimeout(timer) : run());
  document.addEventListener("visibilitychange", onVisibility);
  run();
  return {
    refresh: run,
    stop() {
      stopped = true;
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener("visibilitychange", onVisibility);
    },
  };
}

/** The jobs by next fire. The order stays while the same jobs are shown: a row must not move under the pointer. */
export function useOrder(jobs) {
  const order = useRef({ key: null, places: new Map() });
  const key = jobs.map((job) => job.job_id).toSorted().join(" ");
  if (order.current.key !== key) {
    const time = (job) => (job.next_fire_time ? Date.parse(job.next_fire_time) : Infinity);
    const sorted = jobs.toSorted((one, other) => (time(one) === time(other) ? (one.name ?? one.job_id).localeCompare(other.name ?? other.job_id) : time(one) - time(other)));
    order.current = { key, places: new Map(sorted.map((job, place) => [job.job_id, place])) };
  }
  return jobs.toSorted((one, other) => order.current.places.get(one.job_id) - order.current.places.get(other.job_id));
}
