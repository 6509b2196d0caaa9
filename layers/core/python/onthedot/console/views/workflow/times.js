// @ts-check
// When each job ran: bars from start to end, the critical path bold.
import { html } from "../../lib/html.js";
import { plural, word } from "../../lib/format.js";
import { clock, ms, utcText, wholeDuration } from "../../lib/time.js";
import { Dot } from "../../charts/dots.js";
import { Figure } from "../../charts/figure.js";
import { isEnded, spanOf, took } from "./model.js";

const [ROW, HEAD, MOST_ROWS] = [17, 22, 60];
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400].map(
  (seconds) => seconds * 1000,
);
const BARS = {
  RUNNING: "bar-run",
  DISPATCHED: "bar-run",
  RETRYING: "bar-late",
  FAILED: "bar-fail",
  CANCELLED: "bar-next",
  SUCCEEDED: "bar-ok",
};

export function Times({ model, at }) {
  const span = spanOf(model, at);
  if (!span) return html`<p class="faint">No job has started yet.</p>`;
  const live = model.jobs.some((job) => !isEnded(job));
  const [from, to] = [span.from, Math.max(span.to, live ? at : span.to, span.from + 1000)];
  const rows = [...model.jobs]
    .filter((job) => job.started_at || job.critical || job.finished_at)
    .sort((one, other) => one.step - other.step || ms(one.started_at) - ms(other.started_at));
  const shown =
    rows.length > MOST_ROWS
      ? rows
          .filter((job) => job.critical)
          .concat(rows.filter((job) => !job.critical))
          .slice(0, MOST_ROWS)
      : rows;
  const label = `When each job ran, from ${clock(from)} to ${live ? "now" : clock(to)}; the critical path takes ${wholeDuration(pathTime(model, at))}`;
  const table = {
    head: ["Job", "State", "Started", "Took"],
    rows: shown.map((job) => [
      job.title,
      word(job.status),
      job.started_at ? clock(job.started_at) : "–",
      took(job, at) === null ? "–" : wholeDuration(took(job, at)),
    ]),
  };
  return html`<${Figure} label=${label} height=${HEAD + shown.length * ROW + 6} table=${table} draw=${(width) => draw({ shown, from, to, at, live, width })} />
    ${rows.length > shown.length && html`<p class="faint">${plural(rows.length - shown.length, "more job")} in the list.</p>`}`;
}

const pathTime = (model, at) =>
  model.jobs.filter((job) => job.critical).reduce((sum, job) => sum + (took(job, at) ?? 0), 0);

function draw({ shown, from, to, at, live, width }) {
  const left = Math.min(width * 0.36, 24 + 6.2 * Math.max(...shown.map((job) => job.title.length)));
  const letters = Math.floor((left - 12) / 6.2);
  const right = width - (live ? 22 : 6);
  const x = (time) => left + ((ms(time) - from) / (to - from)) * (right - left);
  const step = STEPS.find((each) => ((right - left) * each) / (to - from) >= 64) ?? STEPS.at(-1);
  const ticks = Array.from(
    { length: Math.floor(to / step) - Math.ceil(from / step) + 1 },
    (_, index) => (Math.ceil(from / step) + index) * step,
  ).slice(0, 40);
  const height = HEAD + shown.length * ROW;
  return html`${ticks.filter((time) => !live || x(at) - x(time) > 34).map((time) => html`<path class="gr" d=${`M${x(time)} 16V${height}`} /><text class="c" x=${x(time)} y="10">${clock(time, { seconds: step < 60_000 })}</text>`)}
    ${shown.map((job, row) => bar(job, HEAD + row * ROW, { x, left, at, letters }))}
    ${live && html`<path class="now" d=${`M${x(at)} 14V${height}`} /><text class="c strong" x=${x(at)} y="10">now</text>`}`;
}

function bar(job, y, { x, left, at, letters }) {
  const title = job.title.length > letters ? `${job.title.slice(0, letters - 1)}…` : job.title;
  const name = html`<text class=${job.critical ? "e strong" : "e"} x=${left - 10} y=${y + 10}>${title}</text>`;
  if (!job.started_at)
    return html`<g>${name}${job.finished_at ? html`<${Dot} status=${job.status} x=${x(job.finished_at)} y=${y + 6} />` : !isEnded(job) ? html`<path class="eta" d=${`M${x(at)} ${y + 6}h12`} /><${Dot} status="COMING" x=${x(at) + 15} y=${y + 6} />` : null}</g>`;
  const [start, end] = [x(job.started_at), job.finished_at ? x(job.finished_at) : x(at)];
  const tone = job.status === "SUCCEEDED" && !job.critical ? "bar-okq" : (BARS[job.status] ?? "bar-next");
  return html`<g>${name}<rect class=${tone} x=${start} y=${y + 3} width=${Math.max(2, end - start)} height="6" rx="1"><title>${`${job.title}: ${word(job.status)}, ${wholeDuration(took(job, at))}, from ${utcText(job.started_at)}`}</title></rect>
    ${job.status === "FAILED" && html`<${Dot} status="FAILED" x=${end + 6} y=${y + 6} />`}</g>`;
}
