// @ts-check
// The job that is chosen in a workflow: why it is so, its parents and children, and the same as a command.
import { html } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { word } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { jobHref, workflowHref } from "../../lib/router.js";
import { wholeDuration } from "../../lib/time.js";
import { sentence } from "../../lib/words.js";
import { Card, CopyAs, Time } from "../../components/bits.js";
import { Pill } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { Failed, Loading } from "../../components/states.js";
import { took } from "./model.js";

const MOST = 8;
const POLICIES = { fail: "fails too", skip: "is skipped", run: "still runs" };

export function Panel({ model, job, at, query }) {
  if (!job)
    return html`<${Card} title="No job is chosen"><p class="faint">Choose a job in the graph or in the list.</p><//>`;
  const right = job.job_id && html`<a class="more" href=${jobHref(job.job_id)}>Open job</a>`;
  return html`<${Card} title=${job.title} hint=${html`<${Pill} status=${job.status} />`} right=${right} className="wpanel">
    ${job.job_id ? html`<${Why} job=${job} />` : html`<p class="say2">It is created when the workflow runs.</p>`}
    <dl class="kv below">${job.title !== job.key && html`<dt>Key</dt><dd><code>${job.key}</code></dd>`}
      <dt>Parents</dt><dd><${Others} model=${model} keys=${job.parents} query=${query} /></dd>
      <dt>Children</dt><dd><${Others} model=${model} keys=${job.children} query=${query} /></dd>
      ${job.children.length > 0 && html`<dt>If it fails</dt><dd>${ifItFails(model, job)}</dd>`}
      <dt>Started</dt><dd><${Time} at=${job.started_at} /></dd>${took(job, at) !== null && html`<dt>${job.finished_at ? "Took" : "So far"}</dt><dd>${wholeDuration(took(job, at))}</dd>`}
      ${job.critical && html`<dt>Path</dt><dd>on the critical path</dd>`}</dl>
    ${job.job_id && html`<div class="below"><${CopyAs} calls=${COPY.explain(job.job_id)} /></div>`}<//>`;
}

/** What GET /v1/jobs/{id}/explain says. */
function Why({ job }) {
  const poll = usePoll(`jobs/${encodeURIComponent(job.job_id)}/explain`, {}, { every: 5000 });
  if (poll.error && !poll.data)
    return poll.error.status === 404
      ? html`<p class="say2"><${Said} text=${job.reason ?? "The job does not exist yet, or was deleted."} /></p>`
      : html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />`;
  if (!poll.data) return html`<${Loading} rows=${2} />`;
  const reasons = poll.data.reasons.length
    ? poll.data.reasons
    : [{ code: "none", message: job.reason ?? word(job.status) }];
  return html`<ul class="whys">${reasons.slice(0, 4).map((each) => html`<li class="say2" key=${each.code + each.message}><${Said} text=${sentence(each.message)} /></li>`)}</ul>
    ${(poll.data.what_if ?? []).slice(0, 2).map((each) => html`<p class="say2 muted"><${Said} text=${each.message} /></p>`)}`;
}

function Others({ model, keys, query }) {
  if (!keys.length) return html`<span class="faint">none</span>`;
  const shown = keys
    .slice(0, MOST)
    .map((key) => model.byKey.get(key))
    .filter(Boolean);
  return html`${shown.map((job, place) => html`${place ? ", " : ""}<a class="link" href=${workflowHref(model.workflow_id, { ...query, job: job.key })}>${job.title}</a> ${word(job.status).toLowerCase()}`)}${keys.length > MOST ? ` and ${keys.length - MOST} more` : ""}`;
}

function ifItFails(model, job) {
  const groups = new Map();
  for (const key of job.children) {
    const child = model.byKey.get(key);
    const policy = child.on_parent_failure ?? "fail";
    groups.set(policy, [...(groups.get(policy) ?? []), child.title]);
  }
  return [...groups]
    .map(
      ([policy, names]) =>
        `${names.length > 2 ? `each of ${names.length} children` : names.join(" and ")} ${names.length === 2 ? { fail: "fail too", skip: "are skipped", run: "still run" }[policy] : POLICIES[policy]} (policy ${policy})`,
    )
    .join("; ");
}
