// @ts-check
// The view *Jobs*: find, filter, page, and act on many.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { count, plural, word } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { go, href, route, setQuery } from "../lib/router.js";
import { mayAct } from "../lib/session.js";
import { Button, ButtonLink, Head, Segments, copyText } from "../components/bits.js";
import { Dialog } from "../components/dialog.js";
import { Icon, Mark } from "../components/marks.js";
import { Said } from "../components/said.js";
import { NameSearch } from "../components/search.js";
import { Empty, Failed, Loading, Stale } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { tell } from "../components/toast.js";
import { Bulk } from "./jobs/bulk.js";
import { COLUMNS, FILTERS, PAGE, filterOf, nameOf, useJobs, useOrder } from "./jobs/list.js";

export const title = () => "Jobs";

/** The cursors of the pages before this one. */
const trail = [];

export default function View({ route: { query } }) {
  const filter = filterOf(query);
  const poll = useJobs(filter, query.cursor);
  const [chosen, setChosen] = useState(new Map());
  const [all, setAll] = useState(false);
  const [focusBar, setFocusBar] = useState(0);
  const key = JSON.stringify(filter);
  const before = useRef(key);
  const jobs = poll.data?.jobs ?? [];
  const single = Boolean(poll.data) && !poll.data.next && !query.cursor;
  const ordered = useOrder(jobs);
  const rows = single ? ordered : jobs;
  useEffect(() => {
    if (before.current === key) return;
    before.current = key;
    trail.length = 0;
    setChosen(new Map());
    setAll(false);
  }, [key]);
  useEffect(() => {
    if (poll.data && !poll.searching)
      tell(
        poll.data.next
          ? `${count(jobs.length)} or more jobs match`
          : `${plural(jobs.length, "job matches", "jobs match")}`,
      );
  }, [key, poll.searching]);
  const page = (step) => {
    if (step > 0 && poll.data?.next) {
      trail.push(query.cursor ?? "");
      setQuery({ cursor: poll.data.next }, { replace: false });
      return true;
    }
    if (step < 0 && query.cursor) {
      setQuery({ cursor: trail.pop() || null }, { replace: false });
      return true;
    }
    return false;
  };
  const select = (ids) => {
    const known = new Map([...chosen, ...jobs.map((job) => [job.job_id, job])]);
    setAll(false);
    setChosen(new Map([...ids].map((id) => [id, known.get(id)])));
  };
  const close = () => {
    setChosen(new Map());
    setAll(false);
    setFocusBar(0);
  };
  const chooseAll = () => {
    if (!jobs.length) return false;
    setAll(true);
    return true;
  };
  const scope = all ? { filter } : chosen.size ? { jobs: [...chosen.values()] } : null;
  const acts = mayAct.value;
  useKeys({ y: () => copyText(location.href, "Link copied") });
  const table = html`<${DataTable} className="jobs" caption=${single ? "Jobs that match, next fire first" : "Jobs that match, newest first"} columns=${COLUMNS} rows=${rows} rowKey=${(job) => job.job_id}
    selected=${all ? new Set(jobs.map((job) => job.job_id)) : new Set(chosen.keys())} onSelect=${acts ? select : undefined} selectLabel=${nameOf} onPage=${page} onAll=${acts ? chooseAll : undefined}
    onBulk=${
      acts
        ? () => {
            if (!scope) return false;
            setFocusBar((number) => number + 1);
            return true;
          }
        : undefined
    } />`;
  return html`<${Head} title="Jobs"><code class="mono faint wide-i cut here">${href(route.value.path, query)}</code><${Button} small kind="quiet" icon="link" onClick=${() => copyText(location.href, "Link copied")}>Copy link<//><//>
    <${Filters} query=${query} /><${Stale} poll=${poll} />
    ${
      poll.error && !poll.data
        ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />`
        : !poll.data
          ? html`<section class="card flush"><${Loading} rows=${8} label="Loading jobs" /></section>`
          : rows.length
            ? html`<section class=${poll.stale ? "card flush stale" : "card flush"} aria-label="List of jobs">${table}<${Pager} poll=${poll} single=${single} query=${query} onPage=${page} /></section>`
            : html`<${Nothing} poll=${poll} query=${query} onPage=${page} />`
    }
    ${acts && scope && html`<${Bulk} scope=${scope} size=${chosen.size} focusFirst=${focusBar} onAll=${all ? null : chooseAll} allText=${single ? `Select all ${count(jobs.length)}` : "Select all that match"} onClose=${close} onDone=${poll.refresh} />`}`;
}

function Pager({ poll, single, query, onPage }) {
  const { jobs, next, unreadable } = poll.data;
  const size = single
    ? plural(jobs.length, "job matches", "jobs match, next fire first")
    : `${count(jobs.length)} on this page, newest first`;
  return html`<div class="pager"><span>${size}${poll.searching ? "; still searching …" : ""}${unreadable.length ? html` <span class="t-fail">${count(unreadable.length)} cannot be read: <${Said} text=${unreadable[0].reason} /></span>` : null}</span>
    <span class="r">${query.cursor && html`<${Button} small icon="left" hotkey="[" onClick=${() => onPage(-1)}>${trail.length > 1 ? "Page before" : "First page"}<//>`}
      ${next && !poll.searching && html`<${Button} small hotkey="]" onClick=${() => onPage(1)}>Next page<//>`}</span></div>`;
}

/** No job is shown: none exists, none matches, or none was found yet. */
function Nothing({ poll, query, onPage }) {
  const filtered = FILTERS.some((name) => query[name]);
  if (poll.searching)
    return html`<section class="card flush"><${Loading} rows=${4} label="Loading jobs: still searching" /></section>`;
  if (poll.data.next)
    return html`<${Empty} title="No match so far" text=${`At least ${count(poll.data.calls * PAGE)} jobs were checked.`}><${Button} onClick=${() => onPage(1)}>Keep looking<//><//>`;
  if (filtered)
    return html`<${Empty} title="No job matches" text="Names match from the start: “settle” finds “settle-payouts”."><${Button} onClick=${() => go("/jobs")}>Show all jobs<//><//>`;
  if (query.cursor) return html`<${Empty} title="No more jobs"><${Button} onClick=${() => onPage(-1)}>Back<//><//>`;
  return html`<${Empty} title="There are no jobs yet" text=${mayAct.value ? "Your first one takes a minute to set up." : "Your role can view jobs, but not create them."}>${mayAct.value && html`<${ButtonLink} kind="primary" icon="plus" href="#/new">New job<//>`}<//>`;
}

// The filters: a name as one types, kind, priority, status, and chips for the rest. All of them are in the URL.

const STATUSES = [
  "ACTIVE",
  "RUNNING",
  "RETRYING",
  "FAILED",
  "PAUSED",
  "WAITING",
  "PENDING",
  "DISPATCHED",
  "SUCCEEDED",
  "SKIPPED",
  "CANCELLED",
  "COMPLETED",
];
const KINDS = [
  ["", "All kinds"],
  ["recurring", "Recurring"],
  ["one-off", "One-off"],
  ["event", "Event"],
];

/** Change filters; the page starts again at the first jobs. */
const choose = (changes, options) => setQuery({ ...changes, cursor: null }, options);

const Chip = ({ on, onClick, children, label }) =>
  html`<button type="button" class="chip" aria-pressed=${String(on)} aria-label=${label} onClick=${onClick}>${children}</button>`;

const Removable = ({ name, value }) =>
  html`<${Chip} on=${true} label=${`Remove the filter ${name} ${value}`} onClick=${() => choose({ [name]: null })}>${name} ${value} <${Icon} name="x" /><//>`;

function Filters({ query }) {
  const [open, setOpen] = useState(false);
  const at = (changes) => href("/jobs", { ...route.value.query, ...changes, cursor: null });
  const priority = (event) => choose({ priority: event.target.value || null });
  const status = (one) => choose({ status: query.status === one ? null : one });
  return html`<div class="filters"><div class="line1"><${NameSearch} name=${query.name} label="Find by the start of a name" />
    <${Segments} small label="Kind" choices=${KINDS.map(([kind, label]) => ({ href: at({ kind }), label, current: (query.kind ?? "") === kind }))} />
    <select class="select" aria-label="Priority" value=${query.priority ?? ""} onChange=${priority}><option value="">Any priority</option>${["HIGH", "MEDIUM", "LOW"].map((one) => html`<option value=${one} selected=${query.priority === one}>${word(one)}</option>`)}</select>
    <span class="chips">${query.tag && html`<${Removable} name="tag" value=${query.tag} />`}${query.workflow && html`<${Removable} name="workflow" value=${query.workflow} />`}
      <${Chip} on=${false} onClick=${() => setOpen(true)}><${Icon} name="plus" />Filter<//></span></div>
    <div class="chips" role="group" aria-label="Status"><${Chip} on=${!query.status} onClick=${() => choose({ status: null })}>All<//>
      ${STATUSES.map((one) => html`<${Chip} on=${query.status === one} onClick=${() => status(one)}><${Mark} status=${one} />${word(one)}<//>`)}</div>
    ${open && html`<${MoreFilters} query=${query} onClose=${() => setOpen(false)} />`}</div>`;
}

/** Tag and workflow: one types them, since no list of all of them exists. */
function MoreFilters({ query, onClose }) {
  const [tag, setTag] = useState(query.tag ?? "");
  const [workflow, setWorkflow] = useState(query.workflow ?? "");
  const apply = (event) => {
    event.preventDefault();
    onClose();
    choose({ tag: tag.trim() || null, workflow: workflow.trim() || null });
  };
  return html`<${Dialog} label="More filters" className="ask" onClose=${onClose}><form onSubmit=${apply}>
    <div class="pin"><h2>More filters</h2><kbd aria-hidden="true">Esc</kbd></div>
    <div class="ebody"><div class="field"><label for="filter-tag">Tag</label><input class="input" id="filter-tag" data-first value=${tag} maxlength="511" placeholder="team or team=core" onInput=${(event) => setTag(event.target.value)} /></div>
      <div class="field"><label for="filter-workflow">Workflow</label><input class="input mono" id="filter-workflow" value=${workflow} placeholder="the id of a run of a workflow" onInput=${(event) => setWorkflow(event.target.value)} /></div></div>
    <div class="pfoot acts"><span class="r"><${Button} kind="quiet" hotkey="Esc" onClick=${onClose}>Back<//><button type="submit" class="btn primary">Filter</button></span></div></form><//>`;
}
