// @ts-check
// The view *Dead letters*: why runs failed for good, whether it is over, and which run again.
import { html, useEffect, useState } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { go, href, jobHref } from "../lib/router.js";
import { mayAct } from "../lib/session.js";
import { Button, ButtonLink, Card, Head, Segments, Time } from "../components/bits.js";
import { Icon } from "../components/marks.js";
import { Said } from "../components/said.js";
import { NameSearch } from "../components/search.js";
import { Empty, Polled } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { tell } from "../components/toast.js";
import { Groups } from "./dead_letters/groups.js";
import { BY, NOTHING, RANGES, asked, isNothing, rangeOf } from "./dead_letters/query.js";
import { Redrive } from "./dead_letters/redrive.js";

export const title = () => "Dead letters";

export default function View({ route }) {
  const { query } = route;
  const by = BY.some(([id]) => id === query.by) ? query.by : "cause";
  const range = rangeOf(query.range);
  const [chosen, choose] = useState(NOTHING);
  const key = JSON.stringify([by, range.id, query.name, query.cause, query.cursor]);
  useEffect(() => choose(NOTHING), [key]);
  const isList = by === "time";
  const ask = () => ({
    ...asked(range, query),
    ...(isList ? { limit: 50, cursor: query.cursor } : { by, limit: 100 }),
  });
  const poll = usePoll("dead-letters", ask, { every: 10_000, key });
  const select = mayAct.value ? { chosen, choose } : null;
  const panel = select && !isNothing(chosen);
  return html`<${Head} title="Dead letters" lead=${poll.data && !isList ? leadOf(poll.data, range, by) : `Runs that failed for good in the last ${range.words}.`}>
      <${Segments} label="Group by" choices=${BY.map(([id, label]) => ({ href: href("/dead-letters", { ...query, by: id, cursor: null }), label, current: id === by }))} /><//>
    <${Filters} query=${query} range=${range} />
    <${Polled} poll=${poll}>${(data) => html`<div class=${panel ? "grid cols-rail" : "grid"}>
      ${isList ? html`<${ByTime} data=${data} query=${query} range=${range} select=${select} />` : html`<${Groups} data=${data} by=${by} query=${query} range=${range} select=${select} none=${html`<${Nothing} query=${query} range=${range} />`} />`}
      ${
        panel &&
        html`<${Redrive} chosen=${chosen} base=${asked(range, query)} onDone=${() => {
          choose(NOTHING);
          poll.refresh();
        }} onRefresh=${poll.refresh} />`
      }</div>`}<//>`;
}

function leadOf({ causes, truncated }, range, by) {
  if (!causes.length) return `No run failed for good in the last ${range.words}.`;
  const runs = causes.reduce((sum, each) => sum + each.count, 0);
  const whence = by === "cause" ? plural(causes.length, "cause") : plural(causes.length, "job");
  return `${truncated ? "At least " : ""}${plural(runs, "run")} failed for good in the last ${range.words}, ${by === "cause" ? "from" : "of"} ${whence}.`;
}

const Nothing = ({ query, range }) =>
  query.name || query.cause
    ? html`<${Empty} title="No dead letter matches" text=${`Nothing in the last ${range.words} matches the filters.`}><a class="btn" href=${href("/dead-letters", { by: query.by, range: query.range })}>Remove the filters</a><//>`
    : html`<${Empty} title="No dead letters" text=${`No run failed for good in the last ${range.words}. A run appears here when its last attempt fails, and stays until it is run again.`} />`;

function Filters({ query, range }) {
  const said = (name) => tell(name ? `Filtered by ${name}` : "All names");
  return html`<div class="filters"><div class="line1"><${NameSearch} name=${query.name} label="Find by the start of a job’s name" onFilter=${said} />
    <${Segments} small label="Range" choices=${RANGES.map((each) => ({ href: href("/dead-letters", { ...query, range: each.id, cursor: null }), label: each.label, current: each === range }))} />
    ${query.cause && html`<a class="chip on" href=${href("/dead-letters", { ...query, cause: null, cursor: null })}><span class="cut">${query.cause}</span><${Icon} name="x" /><span class="vh">Remove this filter</span></a>`}</div></div>`;
}

// Dead letters one by one, the latest first.

function ByTime({ data, query, range, select }) {
  const runs = data.dead_letters;
  if (!runs.length && !data.next_cursor) return html`<${Nothing} query=${query} range=${range} />`;
  const columns = [
    { id: "at", label: "Failed", className: "nowrap", cell: (run) => html`<${Time} at=${run.finished_at} />` },
    {
      id: "job",
      label: "Job",
      className: "d-job",
      cell: (run) =>
        html`<a class="name cut" href=${jobHref(run.job_id, { run: run.execution_id })}>${run.name ?? run.job_id}</a><span class="sub cut">${run.target ?? ""}</span>`,
    },
    {
      id: "error",
      label: "Last error",
      className: "d-error",
      cell: (run) => html`<span class="muted err-text"><${Said} text=${run.error ?? run.reason ?? "–"} /></span>`,
    },
    { id: "attempts", label: "Attempts", num: true, className: "x1", cell: (run) => count(run.attempts.length) },
    { id: "fire", label: "Fire time", className: "nowrap x1", cell: (run) => html`<${Time} at=${run.fire_time} />` },
  ];
  const chosen = select?.chosen.runs;
  const next = () => data.next_cursor && go("/dead-letters", { ...query, cursor: data.next_cursor });
  const page = (step) => (step > 0 ? next() : query.cursor && history.back());
  const whole = { groups: { all: { filter: {}, count: runs.length, label: "all that match" } }, runs: new Set() };
  return html`<${Card} flush><${DataTable} columns=${columns} rows=${runs} rowKey=${(run) => run.execution_id} caption="Dead letters by time" className="d-time" selected=${chosen} onSelect=${select && ((ids) => select.choose({ groups: {}, runs: ids }))} selectLabel=${(run) => `the run of ${run.name ?? run.job_id}`} onPage=${page} onAll=${select && (() => select.choose(whole))} />
    <div class="pager"><span>${count(runs.length)} on this page</span><span class="r">${select && html`<${Button} small kind="quiet" hotkey="A" onClick=${() => select.choose(whole)}>Select all that match<//>`}
      ${query.cursor && html`<${ButtonLink} small href=${href("/dead-letters", { ...query, cursor: null })}>First page<//>`}
      ${data.next_cursor && html`<${ButtonLink} small href=${href("/dead-letters", { ...query, cursor: data.next_cursor })} hotkey="]">Next page<//>`}</span></div><//>`;
}
