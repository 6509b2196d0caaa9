// Dead letters one by one, the latest first.
import { html } from "../../lib/html.js";
import { count } from "../../lib/format.js";
import { go, href, jobHref } from "../../lib/router.js";
import { Button, ButtonLink, Card, Time } from "../../components/bits.js";
import { Said } from "../../components/said.js";
import { DataTable } from "../../components/table.js";
import { Nothing } from "../dead_letters.js";
import { bodies } from "./selection.js";

export function ByTime({ data, query, range, select }) {
  const runs = data.dead_letters;
  if (!runs.length && !data.next_cursor) return html`<${Nothing} query=${query} range=${range} />`;
  const columns = [
    { id: "at", label: "Failed", className: "nowrap", cell: (run) => html`<${Time} at=${run.finished_at} />` },
    { id: "job", label: "Job", className: "d-job", cell: (run) => html`<a class="name cut" href=${jobHref(run.job_id, { run: run.execution_id })}>${run.name ?? run.job_id}</a><span class="sub cut">${run.target ?? ""}</span>` },
    { id: "error", label: "Last error", className: "d-error", cell: (run) => html`<span class="muted err-text"><${Said} text=${run.error ?? run.reason ?? "–"} /></span>` },
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
