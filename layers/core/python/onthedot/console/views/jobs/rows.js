// The columns of the list: state, name, schedule, what comes next, and how the latest runs ended.
import { html } from "../../lib/html.js";
import { shortId, word } from "../../lib/format.js";
import { jobHref, workflowHref } from "../../lib/router.js";
import { everyWords, otherZoneOf, scheduleWords } from "../../lib/words.js";
import { isOver } from "../../lib/states.js";
import { ms, now } from "../../lib/time.js";
import { OutcomeStrip } from "../../charts/dots.js";
import { Ago, Priority, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";

export const nameOf = (job) => job.name ?? job.job_id;

const tagsOf = (job) => Object.entries(job.tags ?? {}).map(([key, value]) => (value ? `${key}=${value}` : key)).join(", ");

function Name({ job }) {
  const sub = job.target ?? (tagsOf(job) || `${job.pool} · ${shortId(job.job_id, 12)}`);
  return html`<a class="name cut" href=${jobHref(job.job_id)} title=${nameOf(job)}>${nameOf(job)}</a><span class="sub cut">${sub}</span>`;
}

function Schedule({ job }) {
  const other = otherZoneOf(job);
  const zone = !other && job.timezone && job.timezone !== "UTC" ? ` ${job.timezone}` : "";
  const words = job.kind === "event" ? "On an event" : job.status === "WAITING" ? "After its parents" : `${scheduleWords(job)}${other && `, ${other}`}`;
  const below = job.workflow_id
    ? html`<a class="sub cut" href=${workflowHref(job.workflow_id)}>workflow ${shortId(job.workflow_id, 12)}</a>`
    : job.cron ? html`<code class="sub cut">${job.cron}${zone}</code>` : html`<span class="sub cut">${job.every ? `every ${job.every} s` : job.kind}</span>`;
  return html`<span class="cut" title=${job.every ? everyWords(job.every) : words}>${words}</span>${below}`;
}

const Why = ({ text }) => html`<span class="sub cut" title=${plainly(text)}><${Said} text=${text} /></span>`;

/** What comes: the next fire, or why there is none. */
function Next({ job }) {
  const { status, next_fire_time: next, reason, last_outcome: last } = job;
  if (isOver(status) && !next) return html`<span class="muted">${word(status)} <${Ago} at=${last?.finished_at ?? last?.fire_time ?? job.created_at} /></span>${reason && html`<${Why} text=${reason} />`}`;
  if (status === "PAUSED") return html`<span class="muted">Paused</span>${reason && html`<${Why} text=${reason} />`}`;
  if (status === "WAITING") return html`<span class="muted cut" title=${plainly(reason)}><${Said} text=${reason ?? "Waits for its parents"} /></span>`;
  if (["RUNNING", "DISPATCHED"].includes(status) && !next) return html`<span class="muted">${status === "RUNNING" ? "Runs now" : "In a queue"}</span>${reason && html`<${Why} text=${reason} />`}`;
  if (!next) return html`<span class="muted cut" title=${plainly(reason)}><${Said} text=${reason ?? (job.kind === "event" ? "Waits for events" : "–")} /></span>`;
  const due = ms(next) <= now.value;
  const sub = status === "RETRYING" ? html`<span class="sub t-retry">retry ${due ? "due " : ""}<${Ago} at=${next} /></span>`
    : due && reason ? html`<${Why} text=${reason} />`
      : html`<span class="sub">${due ? "due " : ""}<${Ago} at=${next} /></span>`;
  return html`<${Time} at=${next} />${sub}`;
}

const Last = ({ job }) => html`<${OutcomeStrip} outcomes=${job.outcomes ?? (job.last_outcome ? [job.last_outcome.status] : [])} none=${job.status === "RUNNING" ? "runs now" : "no run yet"} />`;

/** The columns of DataTable. */
export const COLUMNS = [
  { id: "status", label: "Status", className: "c-st", cell: (job) => html`<${Pill} status=${job.status} />` },
  { id: "name", label: "Name", className: "c-name", cell: (job) => html`<${Name} job=${job} />` },
  { id: "when", label: "Schedule", className: "c-when", cell: (job) => html`<${Schedule} job=${job} />` },
  { id: "next", label: "Next fire", className: "c-next", cell: (job) => html`<${Next} job=${job} />` },
  { id: "last", label: "Last 12 runs", className: "c-last", cell: (job) => html`<${Last} job=${job} />` },
  { id: "priority", label: "Priority", className: "c-pr", cell: (job) => html`<${Priority} value=${job.priority} />` },
];
