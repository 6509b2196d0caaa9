// The runs of one cause or job, the latest first.
import { html } from "../../lib/html.js";
import { count } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { href, jobHref } from "../../lib/router.js";
import { Time } from "../../components/bits.js";
import { Said } from "../../components/said.js";
import { Loading, Polled } from "../../components/states.js";
import { asked } from "./query.js";
import { toggleRun } from "./selection.js";

const SHOWN = 10;

export function GroupRuns({ group, groupKey, filter, query, range, select }) {
  const ask = () => ({ ...asked(range, query), ...filter, limit: SHOWN });
  const poll = usePoll("dead-letters", ask, { every: 10_000, key: JSON.stringify([groupKey, range.id, query.name]) });
  return html`<${Polled} poll=${poll} loading=${html`<${Loading} rows=${3} label="Loading the runs" />`}>${(data) => html`<${Runs} runs=${data.dead_letters} ...${{ group, groupKey, filter, query, select }} />`}<//>`;
}

function Runs({ runs, group, groupKey, filter, query, select }) {
  const ids = runs.map((run) => run.execution_id);
  const whole = Boolean(select?.chosen.groups[groupKey]);
  const more = group.count - runs.length;
  const list = href("/dead-letters", { ...query, by: "time", cause: filter.cause ?? query.cause, name: filter.job_id ? group.name : query.name });
  return html`<table class="tbl inner"><caption class="vh">Runs of this group</caption>
    <thead><tr>${select && html`<th scope="col"><span class="vh">Select</span></th>`}<th scope="col">Fire time</th><th scope="col" class="x1">Failed</th><th scope="col" class="x1">Job</th><th scope="col" class="num x1">Attempts</th><th scope="col">Last error</th></tr></thead>
    <tbody>${runs.map((run) => html`<tr key=${run.execution_id}>${select && html`<td><label class="pick"><input type="checkbox" checked=${whole || select.chosen.runs.has(run.execution_id)} onChange=${() => select.choose(toggleRun(select.chosen, run.execution_id, groupKey, ids))} aria-label=${`Select the run of ${run.name ?? run.job_id} at ${run.fire_time}`} /></label></td>`}
      <td class="nowrap"><a class="name" href=${jobHref(run.job_id, { run: run.execution_id })}><${Time} at=${run.fire_time} /></a></td><td class="nowrap x1"><${Time} at=${run.finished_at} /></td><td class="cut x1">${run.name ?? run.job_id}</td><td class="num x1">${count(run.attempts.length)}</td><td class="muted err-text"><${Said} text=${run.error ?? run.reason ?? "–"} /></td></tr>`)}</tbody></table>
    ${more > 0 && html`<p class="morerow"><a class="link" href=${list}>${count(more)} more</a></p>`}`;
}
