// The view *Jobs*: find, filter, page, and act on many.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { mayAct } from "../lib/roles.js";
import { go, href, route, setQuery } from "../lib/router.js";
import { Button, ButtonLink, Head, copyText } from "../components/bits.js";
import { Said } from "../components/said.js";
import { Empty, Failed, Loading, Stale } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { tell } from "../components/toast.js";
import { useKeys } from "../lib/keys.js";
import { Bulk } from "./jobs/bulk.js";
import { Filters } from "./jobs/filters.js";
import { FILTERS, PAGE, filterOf, useJobs, useOrder } from "./jobs/list.js";
import { COLUMNS, nameOf } from "./jobs/rows.js";

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
  useEffect(() => { if (poll.data && !poll.searching) tell(poll.data.next ? `${count(jobs.length)} or more jobs match` : `${plural(jobs.length, "job matches", "jobs match")}`); }, [key, poll.searching]);
  const page = (step) => {
    if (step > 0 && poll.data?.next) { trail.push(query.cursor ?? ""); setQuery({ cursor: poll.data.next }, { replace: false }); return true; }
    if (step < 0 && query.cursor) { setQuery({ cursor: trail.pop() || null }, { replace: false }); return true; }
    return false;
  };
  const select = (ids) => {
    const known = new Map([...chosen, ...jobs.map((job) => [job.job_id, job])]);
    setAll(false);
    setChosen(new Map([...ids].map((id) => [id, known.get(id)])));
  };
  const close = () => { setChosen(new Map()); setAll(false); setFocusBar(0); };
  const chooseAll = () => { if (!jobs.length) return false; setAll(true); return true; };
  const scope = all ? { filter } : chosen.size ? { jobs: [...chosen.values()] } : null;
  const acts = mayAct.value;
  useKeys({ y: () => copyText(location.href, "Link copied") });
  const table = html`<${DataTable} className="jobs" caption=${single ? "Jobs that match, next fire first" : "Jobs that match, the latest first"} columns=${COLUMNS} rows=${rows} rowKey=${(job) => job.job_id}
    selected=${all ? new Set(jobs.map((job) => job.job_id)) : new Set(chosen.keys())} onSelect=${acts ? select : undefined} selectLabel=${nameOf} onPage=${page} onAll=${acts ? chooseAll : undefined}
    onBulk=${acts ? () => { if (!scope) return false; setFocusBar((number) => number + 1); return true; } : undefined} />`;
  return html`<${Head} title="Jobs"><code class="mono faint wide-i cut here">${href(route.value.path, query)}</code><${Button} small kind="quiet" icon="link" onClick=${() => copyText(location.href, "Link copied")}>Copy link<//><//>
    <${Filters} query=${query} /><${Stale} poll=${poll} />
    ${poll.error && !poll.data ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />` : !poll.data ? html`<section class="card flush"><${Loading} rows=${8} label="Loading jobs" /></section>`
      : rows.length ? html`<section class=${poll.stale ? "card flush stale" : "card flush"} aria-label="List of jobs">${table}<${Pager} poll=${poll} single=${single} query=${query} onPage=${page} /></section>`
        : html`<${Nothing} poll=${poll} query=${query} onPage=${page} />`}
    ${acts && scope && html`<${Bulk} scope=${scope} size=${chosen.size} focusFirst=${focusBar} onAll=${all ? null : chooseAll} allText=${single ? `Select all ${count(jobs.length)}` : "Select all that match"} onClose=${close} onDone=${poll.refresh} />`}`;
}

function Pager({ poll, single, query, onPage }) {
  const { jobs, next, unreadable } = poll.data;
  const size = single ? plural(jobs.length, "job matches", "jobs match, next fire first") : `${count(jobs.length)} on this page, the latest first`;
  return html`<div class="pager"><span>${size}${poll.searching ? "; looking further …" : ""}${unreadable.length ? html` <span class="t-fail">${count(unreadable.length)} cannot be read: <${Said} text=${unreadable[0].reason} /></span>` : null}</span>
    <span class="r">${query.cursor && html`<${Button} small icon="left" hotkey="[" onClick=${() => onPage(-1)}>${trail.length > 1 ? "Page before" : "First page"}<//>`}
      ${next && !poll.searching && html`<${Button} small hotkey="]" onClick=${() => onPage(1)}>Next page<//>`}</span></div>`;
}

/** No job is shown: none exists, none matches, or none was found yet. */
function Nothing({ poll, query, onPage }) {
  const filtered = FILTERS.some((name) => query[name]);
  if (poll.searching) return html`<section class="card flush"><${Loading} rows=${4} label="Loading jobs: looking further" /></section>`;
  if (poll.data.next) return html`<${Empty} title="No match so far" text=${`${count(poll.data.calls * PAGE)} jobs or more were looked at.`}><${Button} onClick=${() => onPage(1)}>Look further<//><//>`;
  if (filtered) return html`<${Empty} title="No job matches" text="A name matches from its start: “settle” finds “settle-payouts”."><${Button} onClick=${() => go("/jobs")}>Show all jobs<//><//>`;
  if (query.cursor) return html`<${Empty} title="Nothing more"><${Button} onClick=${() => onPage(-1)}>Back<//><//>`;
  return html`<${Empty} title="There are no jobs yet" text=${mayAct.value ? "The first one takes a minute." : "Your role may look, not make one."}>${mayAct.value && html`<${ButtonLink} kind="primary" icon="plus" href="#/new">New job<//>`}<//>`;
}
