// @ts-check
// The list of jobs, read in bounded steps: one call looks at a bounded number of jobs, so a page may need several.
import { html, useRef } from "../../lib/html.js";
import { get } from "../../lib/api.js";
import { shortId, word } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { jobHref, workflowHref } from "../../lib/router.js";
import { isOver } from "../../lib/states.js";
import { ms, now } from "../../lib/time.js";
import { everyWords, otherZoneOf, scheduleWords } from "../../lib/words.js";
import { OutcomeStrip } from "../../charts/dots.js";
import { Ago, Priority, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";

export const PAGE = 50;
const MOST_CALLS = 20;
const EVERY_MS = 5000;
const SLOW_MS = 30_000;

/** The filters of the URL that the API knows. */
export const FILTERS = ["name", "status", "kind", "priority", "tag", "workflow"];

export const filterOf = (query) =>
  Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));

/**
 * Read up to PAGE jobs: {jobs, next, unreadable, calls, searching}.
 * @type {import("../../lib/poll.js").Read}
 */
async function readPage(path, query, { signal, part }) {
  const { cursor, ...filter } = /** @type {any} */ (query);
  const found = { jobs: [], next: cursor || null, unreadable: [], calls: 0, searching: true };
  do {
    const page = await get(path, { ...filter, limit: PAGE - found.jobs.length, cursor: found.next }, { signal });
    found.jobs.push(...page.jobs);
    found.unreadable.push(...(page.unreadable ?? []));
    found.next = page.next_cursor;
    found.calls += 1;
    if (found.next && found.jobs.length < PAGE) part({ ...found, jobs: [...found.jobs] });
  } while (found.next && found.jobs.length < PAGE && found.calls < MOST_CALLS);
  return { status: 200, data: { ...found, searching: false }, etag: null };
}

/** A page that takes many calls is read less often. */
const pace = (data) => (data?.calls > 2 ? SLOW_MS : EVERY_MS);

/** A page of jobs, kept up to date. `searching`: the page is not whole yet. */
export function useJobs(filter, cursor) {
  const poll = usePoll("jobs", { ...filter, cursor }, { every: pace, read: readPage });
  return { ...poll, searching: Boolean(poll.data?.searching && !poll.error) };
}

/** The jobs by next fire. The order stays while the same jobs are shown: a row must not move under the pointer. */
export function useOrder(jobs) {
  const order = useRef({ key: null, places: new Map() });
  const key = jobs
    .map((job) => job.job_id)
    .toSorted()
    .join(" ");
  if (order.current.key !== key) {
    const time = (job) => (job.next_fire_time ? Date.parse(job.next_fire_time) : Infinity);
    const sorted = jobs.toSorted((one, other) =>
      time(one) === time(other)
        ? (one.name ?? one.job_id).localeCompare(other.name ?? other.job_id)
        : time(one) - time(other),
    );
    order.current = { key, places: new Map(sorted.map((job, place) => [job.job_id, place])) };
  }
  return jobs.toSorted((one, other) => order.current.places.get(one.job_id) - order.current.places.get(other.job_id));
}

// The columns of the list: state, name, schedule, what comes next, and how the latest runs ended.

export const nameOf = (job) => job.name ?? job.job_id;

const tagsOf = (job) =>
  Object.entries(job.tags ?? {})
    .map(([key, value]) => (value ? `${key}=${value}` : key))
    .join(", ");

function Name({ job }) {
  const sub = job.target ?? (tagsOf(job) || `${job.pool} · ${shortId(job.job_id, 12)}`);
  return html`<a class="name cut" href=${jobHref(job.job_id)} title=${nameOf(job)}>${nameOf(job)}</a><span class="sub cut">${sub}</span>`;
}

function Schedule({ job }) {
  const other = otherZoneOf(job);
  const zone = !other && job.timezone && job.timezone !== "UTC" ? ` ${job.timezone}` : "";
  const words =
    job.kind === "event"
      ? "On an event"
      : job.status === "WAITING"
        ? "After its parents"
        : `${scheduleWords(job)}${other && `, ${other}`}`;
  const below = job.workflow_id
    ? html`<a class="sub cut" href=${workflowHref(job.workflow_id)}>workflow ${shortId(job.workflow_id, 12)}</a>`
    : job.cron
      ? html`<code class="sub cut">${job.cron}${zone}</code>`
      : html`<span class="sub cut">${job.every ? `every ${job.every} s` : job.kind}</span>`;
  return html`<span class="cut" title=${job.every ? everyWords(job.every) : words}>${words}</span>${below}`;
}

const Why = ({ text }) => html`<span class="sub cut" title=${plainly(text)}><${Said} text=${text} /></span>`;

/** What comes: the next fire, or why there is none. */
function Next({ job }) {
  const { status, next_fire_time: next, reason, last_outcome: last } = job;
  if (isOver(status) && !next)
    return html`<span class="muted">${word(status)} <${Ago} at=${last?.finished_at ?? last?.fire_time ?? job.created_at} /></span>${reason && html`<${Why} text=${reason} />`}`;
  if (status === "PAUSED") return html`<span class="muted">Paused</span>${reason && html`<${Why} text=${reason} />`}`;
  if (status === "WAITING")
    return html`<span class="muted cut" title=${plainly(reason)}><${Said} text=${reason ?? "Waits for its parents"} /></span>`;
  if (["RUNNING", "DISPATCHED"].includes(status) && !next)
    return html`<span class="muted">${status === "RUNNING" ? "Runs now" : "In a queue"}</span>${reason && html`<${Why} text=${reason} />`}`;
  if (!next)
    return html`<span class="muted cut" title=${plainly(reason)}><${Said} text=${reason ?? (job.kind === "event" ? "Waits for events" : "–")} /></span>`;
  const due = ms(next) <= now.value;
  const sub =
    status === "RETRYING"
      ? html`<span class="sub t-retry">retry ${due ? "due " : ""}<${Ago} at=${next} /></span>`
      : due && reason
        ? html`<${Why} text=${reason} />`
        : html`<span class="sub">${due ? "due " : ""}<${Ago} at=${next} /></span>`;
  return html`<${Time} at=${next} />${sub}`;
}

const Last = ({ job }) =>
  html`<${OutcomeStrip} outcomes=${job.outcomes ?? (job.last_outcome ? [job.last_outcome.status] : [])} none=${job.status === "RUNNING" ? "runs now" : "no run yet"} />`;

/** The columns of DataTable. */
export const COLUMNS = [
  { id: "status", label: "Status", className: "c-st", cell: (job) => html`<${Pill} status=${job.status} />` },
  { id: "name", label: "Name", className: "c-name", cell: (job) => html`<${Name} job=${job} />` },
  { id: "when", label: "Schedule", className: "c-when", cell: (job) => html`<${Schedule} job=${job} />` },
  { id: "next", label: "Next fire", className: "c-next", cell: (job) => html`<${Next} job=${job} />` },
  { id: "last", label: "Last 12 runs", className: "c-last", cell: (job) => html`<${Last} job=${job} />` },
  { id: "priority", label: "Priority", className: "c-pr", cell: (job) => html`<${Priority} value=${job.priority} />` },
];
