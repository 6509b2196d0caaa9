// @ts-check
// Why: what explain says, as sentences; what would help; the story of the latest run; and where to look further.
import { html } from "../../lib/html.js";
import { shortId } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { href, jobHref, workflowHref } from "../../lib/router.js";
import { exact } from "../../lib/time.js";
import { opened, sentence } from "../../lib/words.js";
import { Ago } from "../../components/bits.js";
import { Said } from "../../components/said.js";
import { Failed, Loading } from "../../components/states.js";

const MOST_PARENTS = 5;
const MOST_WORKERS = 2;

/** The outcome at the begin of a reason: "Failed at …", "Its last run: failed at …". The word elsewhere is part of a cause. */
const FAILED = /^((?:Its last run: )?)(failed)\b(.*)/is;

/** One reason as a sentence, its code on hover. A run that failed is red, and a fire that comes says how soon. */
function Reason({ reason, job, first }) {
  if (reason.code === "not_due" && job.next_fire_time)
    return html`<span class="lead1" title=${reason.code}><${Said} text=${opened(reason.message)} /></span>, <${Ago} at=${job.next_fire_time} />.`;
  const [, before, outcome, after] = FAILED.exec(sentence(reason.message)) ?? [null, sentence(reason.message)];
  return html`<span class=${first ? "lead1" : ""} title=${reason.code}><${Said} text=${before} />${outcome && html`<b class="t-fail">${outcome}</b><${Said} text=${after} />`}</span>`;
}

/** Ids of workers that sentences have: "worker backlog-1 has …". An id has a digit or a hyphen, so "worker of pool" has none. */
const workersIn = (texts) => [
  ...new Set(
    texts.flatMap((text) => [...text.matchAll(/\bworker ((?=[a-z]*[\d-])\w(?:[\w.:-]*\w)?)/gi)].map(([, id]) => id)),
  ),
];

/** A parent by its name, which is read once. One that has none or was deleted is shown by its id. */
function Parent({ id }) {
  const poll = usePoll(`jobs/${encodeURIComponent(id)}`, {}, { every: 0 });
  return html`<a class="link" href=${jobHref(id)} title=${id}>Parent ${poll.data?.name ?? shortId(id, 12)}</a>`;
}

function Links({ job, found }) {
  const codes = found?.reasons.map((reason) => reason.code) ?? [];
  const texts = found?.reasons.map((reason) => reason.message) ?? [];
  const workers = codes.some((code) => /worker|room/.test(code)) ? workersIn(texts).slice(0, MOST_WORKERS) : [];
  const parents = job.dependencies.slice(0, MOST_PARENTS);
  const links = [
    ...(job.last_outcome?.status === "FAILED" ? [[href("/dead-letters", { job_id: job.job_id }), "Dead letters"]] : []),
    ...job.gates.map((gate) => [href(`/gates/${encodeURIComponent(gate)}`), `Gate ${gate}`]),
    ...(job.workflow_id ? [[workflowHref(job.workflow_id), "Workflow"]] : []),
    ...workers.map((id) => [href(`/workers/${encodeURIComponent(id)}`), `Worker ${id}`]),
    ...(codes.some((code) => /worker|room/.test(code))
      ? [[href("/workers"), workers.length ? "All workers" : "Workers"]]
      : []),
    ...(codes.some((code) => /queue/.test(code))
      ? [[href("/queues", { pool: job.pool }), `Queues of ${job.pool}`]]
      : []),
  ];
  return links.length || parents.length
    ? html`<div class="side-note">${parents.map((id) => html`<${Parent} key=${id} id=${id} />`)}${links.map(([to, text]) => html`<a class="link" href=${to}>${text}</a>`)}</div>`
    : null;
}

/** The codes of the reasons, for readers of the docs. */
const Codes = ({ codes }) =>
  codes.length
    ? html`<p class="codes">Reason codes, as in the docs: ${codes.map((code, place) => html`${place ? ", " : ""}<code>${code}</code>`)}</p>`
    : null;

/** The last line of the story may be the reason why it waits, as it is now. */
const isPresent = (moment, { timeline, reasons }) =>
  moment === timeline.at(-1) && reasons.some((reason) => reason.message === moment.message);

export function Why({ job, poll }) {
  const found = poll.data;
  const codes = found?.reasons.map((reason) => reason.code) ?? [];
  return html`<section class="card why" aria-labelledby="why-h"><div><h2 id="why-h" tabindex="-1">Why</h2>
    ${
      found
        ? html`<p class="say">${found.reasons.map((reason, place) => html`${place ? " " : ""}<${Reason} reason=${reason} job=${job} first=${place === 0} />`)}${found.reasons.length ? null : "Nothing is holding it up."}</p>
      ${found.what_if.map((each) => html`<p class="then"><${Said} text=${sentence(each.message)} /></p>`)}
      ${found.timeline.length > 0 && html`<details class="fold-as"><summary>What happened to its latest run</summary><ol class="story">${found.timeline.map((each) => html`<li><time datetime=${each.time}>${isPresent(each, found) ? "now" : exact(each.time)}</time><span><${Said} text=${each.message} /></span></li>`)}</ol><${Codes} codes=${codes} /></details>`}`
        : poll.error
          ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />`
          : html`<${Loading} rows=${1} label="Loading the reasons" />`
    }</div>
    <${Links} job=${job} found=${found} /></section>`;
}
