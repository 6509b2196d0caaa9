// @ts-check
// The graph of a workflow; on a small screen its steps, one below the other.
import { cls, html, useMemo } from "../../lib/html.js";
import { plural, word } from "../../lib/format.js";
import { workflowHref } from "../../lib/router.js";
import { useWidth } from "../../charts/figure.js";
import { Mark, toneOf } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";
import { layoutOf } from "./layout.js";
import { isEnded, subline } from "./model.js";

const NARROW = 620;
const TONES = {
  RUNNING: "n-run",
  DISPATCHED: "n-run",
  RETRYING: "n-retry",
  FAILED: "n-fail",
  WAITING: "n-hold",
  PENDING: "n-hold",
  PAUSED: "n-hold",
  SKIPPED: "n-skip",
  CANCELLED: "n-skip",
};
const [TITLE_LETTER, SUB_LETTER] = [7.2, 5.7];
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function Graph({ model, chosen, at, query }) {
  const [place, width] = useWidth(1000);
  return html`<div ref=${place}>${width < NARROW ? html`<${Steps} ...${{ model, chosen, at, query }} />` : html`<${Drawn} ...${{ model, chosen, at, query, width }} />`}</div>`;
}

const hrefOf = (model, job, query) => workflowHref(model.workflow_id, { ...query, job: job.key });

function Drawn({ model, chosen, at, query, width }) {
  const shape = model.jobs.map((job) => `${job.key}<${job.parents}`).join(" ");
  const places = useMemo(() => layoutOf(model, width), [shape, String(model.critical_path), width]);
  const label = `Graph of ${plural(model.jobs.length, "job")}; the critical path goes through ${model.critical_path.join(", ")}`;
  const isHeavy = ({ from, to }) =>
    model.byKey.get(from).critical &&
    model.byKey.get(to).critical &&
    model.critical_path.indexOf(to) === model.critical_path.indexOf(from) + 1;
  const edges = [...places.edges].sort((one, other) => Number(isHeavy(one)) - Number(isHeavy(other)));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Workflow graph"><svg class="chart flow" width=${places.width} height=${places.height} viewBox=${`0 0 ${places.width} ${places.height}`} role="group" aria-label=${label}>
    ${edges.map((edge) => html`<g key=${`${edge.from}>${edge.to}`}><path class=${cls("edge", isHeavy(edge) && "crit", !isEnded(model.byKey.get(edge.from)) && "todo")} d=${edge.path} /><path class=${cls("arrow", isHeavy(edge) && "crit")} d=${edge.tip} /></g>`)}
    ${model.jobs.map((job) => html`<${Node} key=${job.key} ...${{ model, job, at, query }} place=${places.nodes.get(job.key)} size=${places.node} chosen=${job.key === chosen} />`)}</svg></div>`;
}

function Node({ model, job, at, query, place, size, chosen }) {
  const [x, y] = [place.x - size.width / 2, place.y - size.height / 2];
  const room = size.width - 38;
  const sub = plainly(subline(job, model, at));
  return html`<a href=${hrefOf(model, job, query)} aria-current=${chosen ? "true" : null}>
    <rect class=${cls("node", TONES[job.status], job.critical && "crit", chosen && "chosen")} x=${x} y=${y} width=${size.width} height=${size.height} rx="4" />
    <svg x=${x + 12} y=${y + 10} width="12" height="12" viewBox="0 0 12 12"><${Mark} status=${job.status} label=${word(job.status)} className=${`nm ${toneOf(job.status)}`} /></svg>
    <text class="nt" x=${x + 30} y=${y + 20}>${cut(job.title, Math.floor(room / TITLE_LETTER))}</text><text class="ns" x=${x + 30} y=${y + 36}>${cut(sub, Math.floor(room / SUB_LETTER))}</text></a>`;
}

/** Each step has the jobs whose parents are all in steps above it. */
function Steps({ model, chosen, at, query }) {
  const steps = [];
  for (const job of model.jobs) (steps[job.step] ??= []).push(job);
  return html`<ol class="wsteps" aria-label=${`${plural(steps.length, "step")}; the heavy line is the critical path`}>${steps.map(
    (jobs, number) => html`<li key=${number}><h3>Step ${number + 1}</h3><ul>
    ${jobs.map(
      (
        job,
      ) => html`<li key=${job.key} class=${cls(job.critical && "crit", !isEnded(job) && "todo")}><a href=${hrefOf(model, job, query)} aria-current=${job.key === chosen ? "true" : null}>
      <${Mark} status=${job.status} label=${word(job.status)} /><b>${job.title}</b><span><${Said} text=${subline(job, model, at)} /></span></a></li>`,
    )}</ul></li>`,
  )}</ol>`;
}

/** "8 succeeded, 1 running", each with its mark. */
export function Legend({ progress }) {
  const order = [
    "SUCCEEDED",
    "RUNNING",
    "DISPATCHED",
    "RETRYING",
    "PENDING",
    "WAITING",
    "PAUSED",
    "FAILED",
    "SKIPPED",
    "CANCELLED",
    "DELETED",
  ];
  const shown = Object.entries(progress.by_status).sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return html`<span class="legend">${shown.map(([status, number]) => html`<span key=${status}><${Mark} status=${status} />${number} ${word(status).toLowerCase()}</span>`)}</span>`;
}
