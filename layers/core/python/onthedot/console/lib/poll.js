// @ts-check
// Live data: poll with ETag while the page is visible, one request at a time, and stop when the view is left.
import { useEffect, useRef, useState } from "./html.js";
import { ApiError, address, call } from "./api.js";
import { nowMs } from "./time.js";

const EVERY_MS = 5000;
const LONGEST_WAIT = 60_000;

/**
 * Reads what a poll shows. `part` shows what was found so far, until there is a whole answer.
 * @typedef {(path: string, query: object, options: {signal: AbortSignal, etag: string | null, part: (data: any) => void}) => Promise<{status: number, data: any, etag: string | null}>} Read
 */

/** @type {Read} */
const once = (path, query, { signal, etag }) => call("GET", path, { query, signal, etag });

/**
 * Poll `path` and give its latest answer to the component.
 *
 * Return {data, error, loading, stale, at, nextTry, refresh}: `data` stays while `error` says that the latest call
 * failed (`stale` is then true, `at` the ms of the answer that is shown, `nextTry` the ms of the next call).
 * `query` is an object, or a function that is asked before each call (then give `key`, which tells queries apart).
 * A path of null reads nothing.
 *
 * @param {string | null} path
 * @param {object | (() => object)} [query]
 * @param {object} [options]
 * @param {number | ((data: any) => number)} [options.every] ms from an answer to the next call; 0: read once
 * @param {string} [options.key]
 * @param {Read} [options.read]
 */
export function usePoll(path, query = {}, { every = EVERY_MS, key, read = once } = {}) {
  const id = path === null ? null : (key ?? address(path, typeof query === "function" ? {} : query));
  const [state, setState] = useState(/** @type {any} */ ({ id: null }));
  const handle = useRef(null);
  const ask = useRef(query);
  ask.current = query;
  useEffect(() => {
    if (id === null) return undefined;
    const queryNow = () => (typeof ask.current === "function" ? ask.current() : ask.current);
    const readNow = (options) => read(path, queryNow(), options);
    handle.current = poll(readNow, every, (next) => setState({ id, ...next }));
    return handle.current.stop;
  }, [id, path, every]);
  const refresh = () => handle.current?.refresh();
  const { data = null, error = null, at = null, nextTry = null } = state.id === id ? state : {};
  return {
    data,
    error,
    at,
    nextTry,
    loading: data === null && error === null && id !== null,
    stale: Boolean(data && error),
    refresh,
  };
}

/** Poll until `stop` is called. `tell` gets {data, error, at, nextTry} after each change. */
export function poll(read, every, tell) {
  const seen = { data: null, etag: null, at: null, errors: 0, isWhole: false };
  let [timer, controller, stopped] = [null, null, false];
  const waitAfter = (data) => (typeof every === "function" ? every(data) : every);

  const plan = (wait) => {
    clearTimeout(timer);
    if (!stopped && wait > 0 && !document.hidden) timer = setTimeout(run, wait);
  };

  async function run() {
    clearTimeout(timer);
    if (stopped || controller) return;
    const { signal } = (controller = new AbortController());
    try {
      const answer = await read({ signal, etag: seen.etag, part: (data) => !signal.aborted && part(data) });
      if (signal.aborted) return;
      const wasWrong = seen.errors > 0;
      Object.assign(seen, { at: nowMs(), errors: 0, isWhole: true });
      if (answer.status !== 304) Object.assign(seen, { data: answer.data, etag: answer.etag });
      if (answer.status !== 304 || wasWrong) tell({ data: seen.data, error: null, at: seen.at, nextTry: null });
      controller = null;
      plan(waitAfter(seen.data));
    } catch (error) {
      if (signal.aborted) return;
      controller = null;
      failed(error);
    }
  }

  function part(data) {
    if (seen.isWhole) return;
    Object.assign(seen, { data, at: nowMs() });
    tell({ data, error: null, at: seen.at, nextTry: null });
  }

  function failed(error) {
    const known = error instanceof ApiError ? error : new ApiError(0, "error", String(error?.message ?? error));
    seen.errors += 1;
    const final = known.status === 401 || known.status === 404 || known.status === 403;
    const backoff = Math.min(LONGEST_WAIT, (waitAfter(seen.data) || EVERY_MS) * 2 ** (seen.errors - 1));
    const wait = final ? LONGEST_WAIT : Math.max(backoff, (known.retryAfter ?? 0) * 1000);
    const goesOn = known.status !== 401;
    tell({ data: seen.data, error: known, at: seen.at, nextTry: goesOn ? nowMs() + wait : null });
    if (goesOn) plan(wait);
  }

  /** Read again now. A request on its way may have been answered before the change that asks for this. */
  function refresh() {
    controller?.abort();
    controller = null;
    run();
  }

  const onVisibility = () => (document.hidden ? clearTimeout(timer) : waitAfter(seen.data) > 0 && run());
  document.addEventListener("visibilitychange", onVisibility);
  run();
  return {
    refresh,
    stop() {
      stopped = true;
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener("visibilitychange", onVisibility);
    },
  };
}
