// @ts-check
// Dead letters by cause or by job: how many, when, and what happened since.
import { cls, html, useRef, useState } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { useKeys } from "../../lib/keys.js";
import { usePoll } from "../../lib/poll.js";
import { href, jobHref } from "../../lib/router.js";
import { moment, ms } from "../../lib/time.js";
import { Card, Time } from "../../components/bits.js";
import { Icon } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";
import { Loading, Polled } from "../../components/states.js";
import { asked, toggleGroup, toggleRun, verdict } from "./query.js";

const TONES = {
  ok: html`<circle class="k-ok" cx="6" cy="6" r="3.400" />`,
  late: html`<circle class="k-retry" cx="6" cy="6" r="3.400" />`,
  fail: html`<path class="k-fail" d="M2.900 2.900l6.300 6.300m0 -6.300l-6.300 6.300" />`,
  idle: html`<circle class="k-next" cx="6" cy="6" r="2.400" />`,
};

export function Verdict({ group }) {
  const { tone, text } = verdict(group, (time) => moment(time, { seconds: false }));
  return html`<span class="verdict"><svg viewBox="0 0 12 12" aria-hidden="true">${TONES[tone]}</svg><span>${text}</span></span>`;
}

export function Groups({ data, by, query, range, select, none }) {
  const body = useRef(null);
  const [open, setOpen] = useState(query.cause ? query.cause : null);
  const keyOf = (group) => (by === "cause" ? group.cause : group.job_id);
  const filterOf = (group) => (by === "cause" ? { cause: group.cause } : { job_id: group.job_id });
  const toggle = (group) =>
    select.choose(
      toggleGroup(select.chosen, keyOf(group), {
        filter: filterOf(group),
        count: group.count,
        label: by === "cause" ? group.cause : (group.name ?? group.job_id),
        group,
      }),
    );
  const discs = () => [...(body.current?.querySelectorAll(".disc") ?? [])];
  const at = () => discs().findIndex((each) => each.closest("tr").contains(document.activeElement));
  const move = (step) => () => {
    const all = discs();
    all[Math.max(0, Math.min(all.length - 1, at() < 0 ? 0 : at() + step))]?.focus();
    return all.length > 0;
  };
  useKeys({
    j: move(1),
    k: move(-1),
    x: () => (select && at() >= 0 ? toggle(data.causes[at()]) : false) ?? true,
    a: () => (select ? all(true) : false) ?? true,
  });
  if (!data.causes.length) return none;
  const has = (group) => Boolean(select?.chosen.groups[keyOf(group)]);
  const whole = data.causes.every(has);
  const all = (on) =>
    select.choose({
      groups: on
        ? Object.fromEntries(
            data.causes.map((group) => [
              keyOf(group),
              { filter: filterOf(group), count: group.count, label: group.cause, group },
            ]),
          )
        : {},
      runs: new Set(),
    });
  const row = (group) => html`<tr key=${keyOf(group)} class=${has(group) ? "chosen" : null}>
    ${select && html`<td><label class="pick"><input type="checkbox" checked=${has(group)} onChange=${() => toggle(group)} aria-label=${`Select all ${count(group.count)} of ${by === "cause" ? group.cause : (group.name ?? group.job_id)}`} /></label></td>`}
    <td class="num"><strong class="n">${count(group.count)}</strong></td>
    <td><${Name} group=${group} by=${by} open=${open === keyOf(group)} onToggle=${() => setOpen(open === keyOf(group) ? null : keyOf(group))} /></td>
    <td><${FailureStrip} group=${group} words=${range.words} /><span class="sub">${spanOf(group)}</span></td><td><${Verdict} group=${group} /></td></tr>
    ${open === keyOf(group) && html`<tr class="sub-row" key=${`${keyOf(group)} runs`}><td colspan=${select ? 5 : 4}><${GroupRuns} group=${group} groupKey=${keyOf(group)} filter=${filterOf(group)} query=${query} range=${range} select=${select} /></td></tr>`}`;
  return html`<${Card} flush><div class="scroll" tabindex="0" role="region" aria-label=${`Dead letters by ${by}`}><table class=${cls("tbl groups", !select && "noselect")}><caption class="vh">Dead letters by ${by}</caption>
    <thead><tr>${select && html`<th class="g-sel" scope="col"><label class="pick"><input type="checkbox" checked=${whole} onChange=${() => all(!whole)} aria-label="Select all" /></label></th>`}
      <th class="g-n num" scope="col">Runs</th><th class="g-cause" scope="col">${by === "cause" ? "Cause and job" : "Job and latest cause"}</th><th class="g-day" scope="col">Last ${range.words}</th><th class="g-now" scope="col">Since then</th></tr></thead>
    <tbody ref=${body}>${data.causes.map(row)}</tbody></table></div>
    ${data.truncated && html`<p class="fine">Not all of them were counted. Choose a shorter range or filter by name.</p>`}<//>`;
}

function Name({ group, by, open, onToggle }) {
  const job = html`<a href=${jobHref(group.job_id, { run: group.execution_id })}>${group.name ?? group.job_id}</a>`;
  const more = group.jobs > 1 ? ` and ${count(group.jobs - 1)} more ${group.jobs === 2 ? "job" : "jobs"}` : "";
  return html`<button class="disc" type="button" aria-expanded=${String(open)} onClick=${onToggle}><${Icon} name=${open ? "down" : "right"} /><span class="cut" title=${plainly(group.cause)}>${by === "cause" ? html`<${Said} text=${group.cause} />` : (group.name ?? group.job_id)}</span></button>
    <span class="sub ind cut">${by === "cause" ? html`${job}${more}` : html`<a href=${jobHref(group.job_id, { run: group.execution_id })}><${Said} text=${group.cause} /></a>`}</span>`;
}

// Failures over the range, as crosses on a line: the larger, the more.

const [WIDTH, END] = [172, 4];
const INSIDE = WIDTH - 2 * END;

/** over: counts of equal parts of the time. */
function FailureStrip({ group, words }) {
  const over = group.over_time ?? [];
  const x = (part) => END + ((part + 0.5) / over.length) * INSIDE;
  const size = (runs) => Math.min(4.2, 2 + Math.log2(runs) * 0.5);
  const cross = (runs, part) => {
    const r = size(runs);
    return html`<path class="k-fail" d=${`M${x(part) - r} ${8 - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} />`;
  };
  return html`<svg class="day" viewBox=${`0 0 ${WIDTH} 16`} role="img" aria-label=${`${plural(group.count, "failure")} over the last ${words}, ${spanOf(group)}`}><path class="base" d=${`M0 8H${WIDTH}`} />
    ${[0, 1, 2, 3, 4].map((part) => html`<path class="tick" d=${`M${END + (part * INSIDE) / 4} 5.500v5`} />`)}${over.map((runs, part) => (runs ? cross(runs, part) : null))}</svg>`;
}

/** "13:52:15 to 14:09:14", or one time. */
function spanOf({ oldest, latest }) {
  return ms(latest) - ms(oldest) < 1000 ? moment(latest) : `${moment(oldest)} to ${moment(latest)}`;
}

// The runs of one cause or job, the latest first.

const SHOWN = 10;

function GroupRuns({ group, groupKey, filter, query, range, select }) {
  const ask = () => ({ ...asked(range, query), ...filter, limit: SHOWN });
  const poll = usePoll("dead-letters", ask, { every: 10_000, key: JSON.stringify([groupKey, range.id, query.name]) });
  return html`<${Polled} poll=${poll} loading=${html`<${Loading} rows=${3} label="Loading the runs" />`}>${(data) => html`<${Runs} runs=${data.dead_letters} ...${{ group, groupKey, filter, query, select }} />`}<//>`;
}

function Runs({ runs, group, groupKey, filter, query, select }) {
  const ids = runs.map((run) => run.execution_id);
  const whole = Boolean(select?.chosen.groups[groupKey]);
  const more = group.count - runs.length;
  const list = href("/dead-letters", {
    ...query,
    by: "time",
    cause: filter.cause ?? query.cause,
    name: filter.job_id ? group.name : query.name,
  });
  return html`<table class="tbl inner"><caption class="vh">Runs of this group</caption>
    <thead><tr>${select && html`<th scope="col"><span class="vh">Select</span></th>`}<th scope="col">Fire time</th><th scope="col" class="x1">Failed</th><th scope="col" class="x1">Job</th><th scope="col" class="num x1">Attempts</th><th scope="col">Last error</th></tr></thead>
    <tbody>${runs.map(
      (
        run,
      ) => html`<tr key=${run.execution_id}>${select && html`<td><label class="pick"><input type="checkbox" checked=${whole || select.chosen.runs.has(run.execution_id)} onChange=${() => select.choose(toggleRun(select.chosen, run.execution_id, groupKey, ids))} aria-label=${`Select the run of ${run.name ?? run.job_id} at ${run.fire_time}`} /></label></td>`}
      <td class="nowrap"><a class="name" href=${jobHref(run.job_id, { run: run.execution_id })}><${Time} at=${run.fire_time} /></a></td><td class="nowrap x1"><${Time} at=${run.finished_at} /></td><td class="cut x1">${run.name ?? run.job_id}</td><td class="num x1">${count(run.attempts.length)}</td><td class="muted err-text"><${Said} text=${run.error ?? run.reason ?? "–"} /></td></tr>`,
    )}</tbody></table>
    ${more > 0 && html`<p class="morerow"><a class="link" href=${list}>${count(more)} more</a></p>`}`;
}
