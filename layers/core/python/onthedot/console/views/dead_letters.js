// The view *Dead letters*: why runs failed for good, whether it is over, and which run again.
import { html, useEffect, useState } from "../lib/html.js";
import { plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { mayAct } from "../lib/roles.js";
import { href } from "../lib/router.js";
import { Head, Segments } from "../components/bits.js";
import { Icon } from "../components/marks.js";
import { NameSearch } from "../components/search.js";
import { Empty, Polled } from "../components/states.js";
import { tell } from "../components/toast.js";
import { BY, RANGES, asked, rangeOf } from "./dead_letters/query.js";
import { Groups } from "./dead_letters/groups.js";
import { Redrive } from "./dead_letters/redrive.js";
import { NOTHING, isNothing } from "./dead_letters/selection.js";
import { ByTime } from "./dead_letters/by_time.js";

export const title = () => "Dead letters";

export default function View({ route }) {
  const { query } = route;
  const by = BY.some(([id]) => id === query.by) ? query.by : "cause";
  const range = rangeOf(query.range);
  const [chosen, choose] = useState(NOTHING);
  const key = JSON.stringify([by, range.id, query.name, query.cause, query.cursor]);
  useEffect(() => choose(NOTHING), [key]);
  const isList = by === "time";
  const ask = () => ({ ...asked(range, query), ...(isList ? { limit: 50, cursor: query.cursor } : { by, limit: 100 }) });
  const poll = usePoll("dead-letters", ask, { every: 10_000, key });
  const select = mayAct.value ? { chosen, choose } : null;
  const panel = select && !isNothing(chosen);
  return html`<${Head} title="Dead letters" lead=${poll.data && !isList ? leadOf(poll.data, range, by) : `Runs that failed for good in the last ${range.words}.`}>
      <${Segments} label="Group by" choices=${BY.map(([id, label]) => ({ href: href("/dead-letters", { ...query, by: id, cursor: null }), label, current: id === by }))} /><//>
    <${Filters} query=${query} range=${range} />
    <${Polled} poll=${poll}>${(data) => html`<div class=${panel ? "grid cols-rail" : "grid"}>
      ${isList ? html`<${ByTime} data=${data} query=${query} range=${range} select=${select} />` : html`<${Groups} data=${data} by=${by} query=${query} range=${range} select=${select} none=${html`<${Nothing} query=${query} range=${range} />`} />`}
      ${panel && html`<${Redrive} chosen=${chosen} base=${asked(range, query)} onDone=${() => { choose(NOTHING); poll.refresh(); }} onRefresh=${poll.refresh} />`}</div>`}<//>`;
}

function leadOf({ causes, truncated }, range, by) {
  if (!causes.length) return `No run failed for good in the last ${range.words}.`;
  const runs = causes.reduce((sum, each) => sum + each.count, 0);
  const whence = by === "cause" ? plural(causes.length, "cause") : plural(causes.length, "job");
  return `${truncated ? "At least " : ""}${plural(runs, "run")} failed for good in the last ${range.words}, ${by === "cause" ? "from" : "of"} ${whence}.`;
}

export const Nothing = ({ query, range }) => (query.name || query.cause
  ? html`<${Empty} title="No dead letter matches" text=${`None of the last ${range.words} passes the filters.`}><a class="btn" href=${href("/dead-letters", { by: query.by, range: query.range })}>Remove the filters</a><//>`
  : html`<${Empty} title="No dead letters" text=${`No run failed for good in the last ${range.words}. A run whose last attempt fails is shown here until it runs again.`} />`);

function Filters({ query, range }) {
  const said = (name) => tell(name ? `Filtered by ${name}` : "All names");
  return html`<div class="filters"><div class="line1"><${NameSearch} name=${query.name} label="Find by the start of a job's name" onFilter=${said} />
    <${Segments} small label="Range" choices=${RANGES.map((each) => ({ href: href("/dead-letters", { ...query, range: each.id, cursor: null }), label: each.label, current: each === range }))} />
    ${query.cause && html`<a class="chip on" href=${href("/dead-letters", { ...query, cause: null, cursor: null })}><span class="cut">${query.cause}</span><${Icon} name="x" /><span class="vh">Remove this filter</span></a>`}</div></div>`;
}

