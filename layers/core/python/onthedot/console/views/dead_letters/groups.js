// Dead letters by cause or by job: how many, when, and what happened since.
import { cls, html, useRef, useState } from "../../lib/html.js";
import { count } from "../../lib/format.js";
import { useKeys } from "../../lib/keys.js";
import { jobHref } from "../../lib/router.js";
import { moment } from "../../lib/time.js";
import { Card } from "../../components/bits.js";
import { Icon } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";
import { verdict } from "./query.js";
import { GroupRuns } from "./group_runs.js";
import { toggleGroup } from "./selection.js";
import { FailureStrip, spanOf } from "./strip.js";

const TONES = { ok: html`<circle class="k-ok" cx="6" cy="6" r="3.400" />`, late: html`<circle class="k-retry" cx="6" cy="6" r="3.400" />`, fail: html`<path class="k-fail" d="M2.900 2.900l6.300 6.300m0 -6.300l-6.300 6.300" />`, idle: html`<circle class="k-next" cx="6" cy="6" r="2.400" />` };

export function Verdict({ group }) {
  const { tone, text } = verdict(group, (time) => moment(time, { seconds: false }));
  return html`<span class="verdict"><svg viewBox="0 0 12 12" aria-hidden="true">${TONES[tone]}</svg><span>${text}</span></span>`;
}

export function Groups({ data, by, query, range, select, none }) {
  const body = useRef(null);
  const [open, setOpen] = useState(query.cause ? query.cause : null);
  const keyOf = (group) => (by === "cause" ? group.cause : group.job_id);
  const filterOf = (group) => (by === "cause" ? { cause: group.cause } : { job_id: group.job_id });
  const toggle = (group) => select.choose(toggleGroup(select.chosen, keyOf(group), { filter: filterOf(group), count: group.count, label: by === "cause" ? group.cause : group.name ?? group.job_id, group }));
  const discs = () => [...(body.current?.querySelectorAll(".disc") ?? [])];
  const at = () => discs().findIndex((each) => each.closest("tr").contains(document.activeElement));
  const move = (step) => () => { const all = discs(); all[Math.max(0, Math.min(all.length - 1, at() < 0 ? 0 : at() + step))]?.focus(); return all.length > 0; };
  useKeys({ j: move(1), k: move(-1), x: () => (select && at() >= 0 ? toggle(data.causes[at()]) : false) ?? true, a: () => (select ? all(true) : false) ?? true });
  if (!data.causes.length) return none;
  const has = (group) => Boolean(select?.chosen.groups[keyOf(group)]);
  const whole = data.causes.every(has);
  const all = (on) => select.choose({ groups: on ? Object.fromEntries(data.causes.map((group) => [keyOf(group), { filter: filterOf(group), count: group.count, label: group.cause, group }])) : {}, runs: new Set() });
  const row = (group) => html`<tr key=${keyOf(group)} class=${has(group) ? "chosen" : null}>
    ${select && html`<td><label class="pick"><input type="checkbox" checked=${has(group)} onChange=${() => toggle(group)} aria-label=${`Select all ${count(group.count)} of ${by === "cause" ? group.cause : group.name ?? group.job_id}`} /></label></td>`}
    <td class="num"><strong class="n">${count(group.count)}</strong></td>
    <td><${Name} group=${group} by=${by} open=${open === keyOf(group)} onToggle=${() => setOpen(open === keyOf(group) ? null : keyOf(group))} /></td>
    <td><${FailureStrip} group=${group} words=${range.words} /><span class="sub">${spanOf(group)}</span></td><td><${Verdict} group=${group} /></td></tr>
    ${open === keyOf(group) && html`<tr class="sub-row" key=${`${keyOf(group)} runs`}><td colspan=${select ? 5 : 4}><${GroupRuns} group=${group} groupKey=${keyOf(group)} filter=${filterOf(group)} query=${query} range=${range} select=${select} /></td></tr>`}`;
  return html`<${Card} flush><div class="scroll" tabindex="0" role="region" aria-label=${`Dead letters by ${by}`}><table class=${cls("tbl groups", !select && "noselect")}><caption class="vh">Dead letters by ${by}</caption>
    <thead><tr>${select && html`<th class="g-sel" scope="col"><label class="pick"><input type="checkbox" checked=${whole} onChange=${() => all(!whole)} aria-label="Select all" /></label></th>`}
      <th class="g-n num" scope="col">Runs</th><th class="g-cause" scope="col">${by === "cause" ? "Cause and job" : "Job and latest cause"}</th><th class="g-day" scope="col">Last ${range.words}</th><th class="g-now" scope="col">And now</th></tr></thead>
    <tbody ref=${body}>${data.causes.map(row)}</tbody></table></div>
    ${data.truncated && html`<p class="fine">There are more than were counted. Choose a shorter range or a name.</p>`}<//>`;
}

function Name({ group, by, open, onToggle }) {
  const job = html`<a href=${jobHref(group.job_id, { run: group.execution_id })}>${group.name ?? group.job_id}</a>`;
  const more = group.jobs > 1 ? ` and ${count(group.jobs - 1)} more ${group.jobs === 2 ? "job" : "jobs"}` : "";
  return html`<button class="disc" type="button" aria-expanded=${String(open)} onClick=${onToggle}><${Icon} name=${open ? "down" : "right"} /><span class="cut" title=${plainly(group.cause)}>${by === "cause" ? html`<${Said} text=${group.cause} />` : group.name ?? group.job_id}</span></button>
    <span class="sub ind cut">${by === "cause" ? html`${job}${more}` : html`<a href=${jobHref(group.job_id, { run: group.execution_id })}><${Said} text=${group.cause} /></a>`}</span>`;
}
