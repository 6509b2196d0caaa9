// Failures and hold-ups: what needs eyes, each with the sentence that names its cause.
import { html } from "../../lib/html.js";
import { count } from "../../lib/format.js";
import { href, jobHref } from "../../lib/router.js";
import { duration, moment, ms, now } from "../../lib/time.js";
import { Ago, Card } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Said, plainly } from "../../components/said.js";

export function Causes({ data }) {
  const rows = [...lateTick(data), ...(data.hold_ups ?? []).map(holdUp), ...(data.causes?.map(withRun(data.failures)) ?? single(data.failures)).map(cause)];
  const known = data.causes || data.failures || data.hold_ups;
  const more = html`<a class="more" href=${href("/dead-letters", { by: "cause" })}>Dead letters</a>`;
  return html`<${Card} title="Failures and hold-ups" hint="by cause" right=${more} flush className="o-fail">
    ${rows.length ? html`<ul class="causes">${rows}</ul>` : html`<p class="pad faint">${known ? "Nothing failed, and nothing is held up." : "The failures cannot be read now."}</p>`}<//>`;
}

/** The scheduler itself is late: nothing else explains what waits now. No page shows more, so it is no link. */
function lateTick({ status, last_tick: last }) {
  if (status !== "late") return [];
  const text = last ? `no tick since ${moment(last)}: runs that were not sent ahead wait for the next one.` : "there was no tick yet: runs that were not sent ahead wait for the first one.";
  return [html`<li><div class="row"><${Mark} status="failed" /><span class="who"><b>Ticks are late</b></span>${last ? html`<${Ago} at=${last} />` : html`<span></span>`}<span class="cause"><${Said} text=${`${text} Run \`onthedot doctor\`: it says what stops them.`} /></span></div></li>`];
}

const single = (failures) => (failures ?? []).map((each) => ({ cause: each.error, count: 1, latest: each.finished_at, job_id: each.job_id, execution_id: each.execution_id, name: each.name }));

/** A cause has no run. The latest failures have it, if the cause is among them. */
const withRun = (failures) => (each) => ({ ...each, execution_id: failures?.find((one) => one.job_id === each.job_id && one.finished_at === each.latest)?.execution_id });

/** The job of the latest run says why, and leads to the others. */
const to = (each) => (each.job_id ? jobHref(each.job_id, { run: each.execution_id }) : href("/dead-letters", { by: "cause", cause: each.cause }));

function cause(each) {
  const fine = each.successes_since ? `; ${count(each.successes_since)} succeeded since` : "";
  return html`<li><a href=${to(each)}><${Mark} status="failed" /><span class="who"><b>${each.name ?? each.job_id ?? "–"}</b>${each.count > 1 && html`<span class="times">×${count(each.count)}</span>`}</span><${Ago} at=${each.latest} /><span class="cause" title=${plainly(each.cause)}><${Said} text=${each.cause} />${fine}</span></a></li>`;
}

function holdUp(each) {
  const place = each.job_id ? jobHref(each.job_id) : ["no_worker", "no_room"].includes(each.code) ? href("/workers") : each.gate ? href(`/gates/${encodeURIComponent(each.gate)}`) : each.pool ? href("/queues", { pool: each.pool }) : href("/gates");
  const since = each.since ? `waits ${duration(Math.max(0, Math.floor((now.value - ms(each.since)) / 1000) * 1000), { units: 1 })}` : "waits";
  return html`<li><a href=${place}><${Mark} status="waiting" /><span class="who"><b>${each.name ?? each.gate ?? each.pool ?? "Limits"}</b>${each.runs > 1 && html`<span class="times">×${count(each.runs)}</span>`}</span><span class="when">${since}</span><span class="cause" title=${plainly(each.message)}><${Said} text=${each.message} /></span></a></li>`;
}
