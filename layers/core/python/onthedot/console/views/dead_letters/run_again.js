// The calls of a redrive. Runs are named by id, some at a time, so that Stop stops between them.
import { get, post } from "../../lib/api.js";
import { nowMs } from "../../lib/time.js";

const PATH = "dead-letters/redrive";
const AT_ONCE = 20;
const PAGE = 100;
const MOST_LOOKS = 5;

/** Milliseconds between two runs that are run again. */
export const PACE_MS = 100;

/** What these calls would do: {matched, refused, more}. `more`: there are more than were counted. */
export async function preview(parts, signal) {
  const found = { matched: 0, refused: [], more: false };
  for (const part of parts) {
    let cursor;
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const answer = await post(PATH, { ...part, dry_run: true, ...(cursor && { cursor }) }, { signal });
      found.matched += answer.matched;
      found.refused.push(...answer.refused);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    found.more ||= Boolean(cursor);
  }
  return found;
}

/** Run them again. `tell` gets the sum after each call. Return {redriven, refused, undecided, stopped, error}. */
export async function runAgain(parts, signal, tell) {
  const done = { redriven: 0, refused: [], undecided: [], stopped: false, error: null };
  const to = new Date(nowMs() + 1).toISOString();
  try {
    for (const part of parts) {
      for await (const ids of part.ids ? chunks(part.ids) : found({ ...part, to })) {
        if (signal.aborted) return { ...done, stopped: true };
        // The call itself is not cut off: its answer counts what it did.
        const answer = await post(PATH, { ids });
        done.redriven += answer.redriven;
        done.refused.push(...answer.refused);
        done.undecided.push(...answer.undecided);
        tell({ ...done });
      }
    }
  } catch (error) {
    return { ...done, error };
  }
  return done;
}

function* chunks(ids) {
  for (let at = 0; at < ids.length; at += AT_ONCE) yield ids.slice(at, at + AT_ONCE);
}

/** The ids of the dead letters that pass a filter. A run that fails again meanwhile is later than `to`. */
async function* found(filter) {
  let cursor;
  do {
    const page = await get("dead-letters", { ...filter, limit: PAGE, cursor });
    yield* chunks(page.dead_letters.map((run) => run.execution_id));
    cursor = page.next_cursor;
  } while (cursor);
}
