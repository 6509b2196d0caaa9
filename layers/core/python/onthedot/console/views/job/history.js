// @ts-check
// The history: each run with its outcome, paged.
import { html, useState } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { jobHref } from "../../lib/router.js";
import { isRange } from "../../lib/states.js";
import { duration, exact, moment, ms } from "../../lib/time.js";
import { Button, Card } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";
import { Failed, Loading } from "../../components/states.js";
import { DataTable } from "../../components/table.js";

export const PAGE = 25;
const took = (run) =>
  run.finished_at && run.attempts?.length ? duration(ms(run.finished_at) - ms(run.attempts[0].started_at)) : "–";

function reasonOf(run) {
  if (isRange(run)) return `${plural(run.count, "fire time")}: ${run.reason ?? "skipped"}`;
  if (run.reason || run.error) return run.reason ?? run.error;
  const first = run.attempts?.find((each) => each.error);
  return first ? `attempt ${first.attempt}: ${first.error}` : "";
}

const COLUMNS = (job) => [
  {
    id: "time",
    label: "Fire time",
    className: "nowrap h-time",
    cell: (run) =>
      html`<a class="name" href=${jobHref(job.job_id, { run: run.execution_id })}>${isRange(run) && run.count > 1 ? `${moment(run.fire_time)} to ${moment(run.until)}` : exact(run.fire_time)}</a>`,
  },
  { id: "status", label: "Outcome", className: "h-st", cell: (run) => html`<${Pill} status=${run.status} />` },
  {
    id: "late",
    label: "Late",
    num: true,
    className: "h-late",
    cell: (run) => (run.lateness_ms == null ? "–" : duration(run.lateness_ms)),
  },
  {
    id: "attempts",
    label: "Attempts",
    num: true,
    className: "h-n",
    cell: (run) => (isRange(run) ? "–" : count(run.attempts.length)),
  },
  { id: "took", label: "Took", num: true, className: "h-took", cell: took },
  {
    id: "reason",
    label: "Reason",
    className: "muted h-why",
    cell: (run) => {
      const text = reasonOf(run);
      return html`<span class="cut" title=${plainly(text)}><${Said} text=${text} /></span>`;
    },
  },
];

/** `latest` is the poll of the first page; older pages are read when they are asked for. */
export function History({ job, latest, chosen }) {
  const [cursors, setCursors] = useState([]);
  const older = usePoll(
    cursors.length ? `jobs/${encodeURIComponent(job.job_id)}/executions` : null,
    { limit: PAGE, cursor: cursors.at(-1) },
    { every: 0 },
  );
  const poll = cursors.length ? older : latest;
  const runs = poll.data?.executions ?? [];
  const page = (step) => {
    if (step > 0 && poll.data?.next_cursor) {
      setCursors([...cursors, poll.data.next_cursor]);
      return true;
    }
    if (step < 0 && cursors.length) {
      setCursors(cursors.slice(0, -1));
      return true;
    }
    return false;
  };
  return html`<${Card} title="History" hint=${cursors.length ? `page ${cursors.length + 1}` : "newest first"} flush className="o-hist">
    ${
      poll.error && !poll.data
        ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />`
        : !poll.data
          ? html`<${Loading} rows=${4} label="Loading the history" />`
          : runs.length
            ? html`<${DataTable} className="runs" caption="Past runs" columns=${COLUMNS(job)} rows=${runs} rowKey=${(run) => run.execution_id} selected=${new Set([chosen])} onPage=${page} />`
            : html`<p class="pad faint">No run yet.</p>`
    }
    ${(cursors.length > 0 || poll.data?.next_cursor) && html`<div class="pager"><span class="r">${cursors.length > 0 && html`<${Button} small icon="left" hotkey="[" onClick=${() => page(-1)}>Newer<//>`}${poll.data?.next_cursor && html`<${Button} small hotkey="]" onClick=${() => page(1)}>Older<//>`}</span></div>`}<//>`;
}
