// Queues by pool and priority. The dot is the oldest that waits: its distance is how long.
import { cls, html } from "../../lib/html.js";
import { count, plural } from "../../lib/format.js";
import { href, jobHref } from "../../lib/router.js";
import { duration } from "../../lib/time.js";
import { AgeLine } from "../../charts/dots.js";
import { Card, Priority } from "../../components/bits.js";
import { Said } from "../../components/said.js";
import { BAD_SECONDS, WARN_SECONDS } from "./sentences.js";

const SCALE = [["1 s", 35], ["1 min", 90.6], ["1 h", 146]];

export function QueueTable({ queues, holdUps, workers }) {
  const pools = Object.entries(Object.groupBy(queues, (each) => each.pool));
  const notes = holdUps.length > 0 || queues.some((each) => each.error);
  const axis = html`<svg class="age chart" viewBox="0 0 150 16" role="img" aria-label="Age of the oldest on a logarithmic scale from 0.1 seconds to an hour">${SCALE.map(([text, x]) => html`<text class=${x > 140 ? "e" : "c"} x=${x} y="12">${text}</text>`)}</svg>`;
  return html`<${Card} title="Queues" hint="of all tenants; the dot is the oldest that waits: its distance is how long" flush><div class="scroll" tabindex="0" role="region" aria-label="Table of queues">
    <table class="tbl queues q-all"><caption class="vh">Queues by pool and priority</caption>
      <thead><tr><th scope="col">Pool</th><th scope="col">Lane</th><th scope="col" class="num">Waiting</th><th scope="col" class="num x1">Delayed</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Oldest</th><th scope="col" class="x1">${axis}</th><th scope="col" class="num x1">Undelivered</th>${notes && html`<th scope="col" class="x1">Held up</th>`}</tr></thead>
      ${pools.map(([pool, lanes]) => html`<tbody key=${pool}>${lanes.map((each, place) => lane(each, place, lanes, holdUps, workers, notes))}</tbody>`)}</table></div>
    <p class="fine">Waiting: due, and no worker has it. Delayed: due soon. In flight: with a worker, or hidden until the next try. Undelivered: messages that could not be delivered; the scheduler sends their runs again.</p><//>`;
}

const figure = (value) => (value == null ? "–" : count(value));
const tone = (seconds) => (seconds >= BAD_SECONDS ? "t-fail" : seconds >= WARN_SECONDS ? "t-retry" : "");

function lane(each, place, lanes, holdUps, workers, notes) {
  const age = each.oldest_age_seconds == null ? "–" : duration(each.oldest_age_seconds * 1000);
  const num = (value, extra) => html`<td class=${cls("num", !value && "zero", extra)}>${figure(value)}</td>`;
  return html`<tr>${place === 0 && html`<th scope="rowgroup" rowspan=${lanes.length}><a class="name" href=${href("/queues", { pool: each.pool })}>${each.pool}</a><span class="sub">${about(each, workers)}</span></th>`}
    <td>${each.priority ? html`<${Priority} value=${each.priority} />` : html`<span class="faint">all</span>`}</td>${num(each.waiting)}${num(each.delayed, "x1")}${num(each.in_flight)}
    <td class=${cls("num", tone(each.oldest_age_seconds))}>${age}</td><td class="x1"><${AgeLine} seconds=${each.oldest_age_seconds} warn=${WARN_SECONDS} bad=${BAD_SECONDS} label=${each.oldest_age_seconds == null ? "Nothing waits" : `The oldest waits for ${age}`} /></td>
    <td class=${cls("num x1", each.dead_letters ? "t-fail" : "zero")}>${figure(each.dead_letters)}</td>${notes && html`<td class="x1 say">${note(each, lanes, holdUps)}</td>`}</tr>`;
}

function about(each, workers) {
  if (each.kind !== "pull") return "the queue starts workers";
  if (workers && !(workers.alive + workers.silent)) return "no worker serves your tenant";
  return workers ? html`<a class=${cls("link", workers.silent > 0 && (workers.alive ? "t-retry" : "t-fail"))} href=${href("/workers")}>${count(workers.alive)} of ${plural(workers.alive + workers.silent, "worker")} alive</a>` : "workers ask for runs";
}

/** The lane of a pool in which runs wait the longest. */
const worst = (lanes) => lanes.reduce((first, each) => ((each.oldest_age_seconds ?? -1) > (first.oldest_age_seconds ?? -1) ? each : first));

/** What is wrong in this queue. A hold-up that names no priority stands where runs of the pool wait the longest. */
function note(each, lanes, holdUps) {
  if (each.error) return html`<span class="t-fail"><${Said} text=${each.error} /></span>`;
  const own = holdUps.filter((one) => one.pool === each.pool && (one.code === "queue_old" ? !each.priority || one.message.includes(`priority ${each.priority},`) : each === worst(lanes)));
  return own.map((one) => html`<span class=${one.code === "queue_old" ? "t-retry" : "t-hold"}>${one.job_id ? html`<a class="link" href=${jobHref(one.job_id)}><${Said} text=${one.message} /></a>` : html`<${Said} text=${one.message} />`}</span>`);
}
