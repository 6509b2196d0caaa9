// @ts-check
// The view *Queues*: how long the oldest waits in each queue, because the depth alone misleads.
import { cls, html } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { href, jobHref } from "../lib/router.js";
import { overview } from "../lib/session.js";
import { duration } from "../lib/time.js";
import { opened } from "../lib/words.js";
import { AgeLine } from "../charts/dots.js";
import { Card, Head, Priority, Segments } from "../components/bits.js";
import { Said } from "../components/said.js";
import { Empty, Polled } from "../components/states.js";

export const title = ({ query }) => (query.pool ? `Queues of pool ${query.pool}` : "Queues");

export default function View({ route }) {
  const { pool } = route.query;
  const poll = usePoll("queues");
  const all = poll.data?.queues ?? [];
  const pools = [...new Set(all.map((each) => each.pool))];
  const shown = pool ? all.filter((each) => each.pool === pool) : all;
  const holdUps = (overview.value?.hold_ups ?? []).filter((each) => each.pool && (!pool || each.pool === pool));
  const choices = [
    { href: href("/queues"), label: "All pools", current: !pool },
    ...pools.map((each) => ({ href: href("/queues", { pool: each }), label: each, current: each === pool })),
  ];
  return html`<${Head} title="Queues" lead=${poll.data ? queueSentence(shown, holdUps) : "Runs of all tenants that are waiting for workers."}>
      <span class=${poll.stale ? "live off" : "live"}>${poll.stale ? "Not live" : "Live, every 5 s"}</span>${pools.length > 1 && html`<${Segments} label="Pool" choices=${choices} />`}<//>
    <${Polled} poll=${poll}>${() =>
      shown.length
        ? html`<${QueueTable} queues=${shown} holdUps=${holdUps} workers=${overview.value?.workers} />`
        : html`<${Empty} title=${pool ? `There is no pool ${pool}` : "There are no queues"} text="A pool has a queue for each priority."><a class="btn" href=${href("/queues")}>All pools</a><//>`}<//>`;
}

// One sentence about the queues: what is wrong first, else how they are.

const WARN_SECONDS = 60;
const BAD_SECONDS = 300;

const MOST_NAMED = 2;
const named = (each) => `pool ${each.pool}${each.priority ? `, ${each.priority}` : ""}`;

/** `holdUps`: those of GET /v1/overview that name a pool. Messages of the API are shown as they are. */
function queueSentence(queues, holdUps) {
  const unknown = queues.filter((each) => each.error);
  const old = queues
    .filter((each) => each.oldest_age_seconds >= WARN_SECONDS)
    .sort((one, other) => other.oldest_age_seconds - one.oldest_age_seconds);
  const told = [
    ...holdUps.filter((each) => each.code !== "queue_old").map((each) => `${opened(each.message)}.`),
    ...old.map(
      (each) =>
        `${opened(named(each))}: ${plural(each.waiting, "run")} of all tenants ${each.waiting === 1 ? "waits" : "wait"}, the oldest for ${duration(each.oldest_age_seconds * 1000)}.`,
    ),
    ...unknown.map((each) => `${opened(named(each))} cannot be read now: ${each.error}.`),
  ];
  if (told.length)
    return `${told.slice(0, MOST_NAMED).join(" ")}${told.length > MOST_NAMED ? ` And ${count(told.length - MOST_NAMED)} more.` : ""}`;
  const sum = (field) => queues.reduce((total, each) => total + (each[field] ?? 0), 0);
  return `Nothing has been waiting long. Across all tenants: ${plural(sum("waiting"), "run")} waiting, ${count(sum("in_flight"))} in flight, ${count(sum("delayed"))} due soon.`;
}

// Queues by pool and priority. The dot is the oldest that waits: its distance is how long.

/** @type {[string, number][]} */
const SCALE = [
  ["1 s", 35],
  ["1 min", 90.6],
  ["1 h", 146],
];

function QueueTable({ queues, holdUps, workers }) {
  const pools = Object.entries(Object.groupBy(queues, (each) => each.pool));
  const notes = holdUps.length > 0 || queues.some((each) => each.error);
  const axis = html`<svg class="age chart" viewBox="0 0 150 16" role="img" aria-label="Age of the oldest on a logarithmic scale from 0.1 seconds to an hour">${SCALE.map(([text, x]) => html`<text class=${x > 140 ? "e" : "c"} x=${x} y="12">${text}</text>`)}</svg>`;
  return html`<${Card} title="Queues" hint="all tenants; the dot shows how long the oldest run has waited" flush><div class="scroll" tabindex="0" role="region" aria-label="Table of queues">
    <table class="tbl queues q-all"><caption class="vh">Queues by pool and priority</caption>
      <thead><tr><th scope="col">Pool</th><th scope="col">Lane</th><th scope="col" class="num">Waiting</th><th scope="col" class="num x1">Delayed</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Oldest</th><th scope="col" class="x1">${axis}</th><th scope="col" class="num x1">Undelivered</th>${notes && html`<th scope="col" class="x1">Held up</th>`}</tr></thead>
      ${pools.map(([pool, lanes]) => html`<tbody key=${pool}>${lanes.map((each, place) => lane(each, place, lanes, holdUps, workers, notes))}</tbody>`)}</table></div>
    <p class="fine">Waiting: due, and no worker has it. Delayed: due soon. In flight: with a worker, or hidden until the next attempt. Undelivered: messages that could not be delivered; the scheduler sends their runs again.</p><//>`;
}

const figure = (value) => (value == null ? "–" : count(value));
const tone = (seconds) => (seconds >= BAD_SECONDS ? "t-fail" : seconds >= WARN_SECONDS ? "t-retry" : "");

function lane(each, place, lanes, holdUps, workers, notes) {
  const age = each.oldest_age_seconds == null ? "–" : duration(each.oldest_age_seconds * 1000);
  const num = (value, extra) => html`<td class=${cls("num", !value && "zero", extra)}>${figure(value)}</td>`;
  return html`<tr>${place === 0 && html`<th scope="rowgroup" rowspan=${lanes.length}><a class="name" href=${href("/queues", { pool: each.pool })}>${each.pool}</a><span class="sub">${about(each, workers)}</span></th>`}
    <td>${each.priority ? html`<${Priority} value=${each.priority} />` : html`<span class="faint">all</span>`}</td>${num(each.waiting)}${num(each.delayed, "x1")}${num(each.in_flight)}
    <td class=${cls("num", tone(each.oldest_age_seconds))}>${age}</td><td class="x1"><${AgeLine} seconds=${each.oldest_age_seconds} warn=${WARN_SECONDS} bad=${BAD_SECONDS} label=${each.oldest_age_seconds == null ? "Nothing is waiting" : `The oldest has waited ${age}`} /></td>
    <td class=${cls("num x1", each.dead_letters ? "t-fail" : "zero")}>${figure(each.dead_letters)}</td>${notes && html`<td class="x1 say">${note(each, lanes, holdUps)}</td>`}</tr>`;
}

function about(each, workers) {
  if (each.kind !== "pull") return "the queue starts workers";
  if (workers && !(workers.alive + workers.silent)) return "no worker serves your tenant";
  return workers
    ? html`<a class=${cls("link", workers.silent > 0 && (workers.alive ? "t-retry" : "t-fail"))} href=${href("/workers")}>${count(workers.alive)} of ${plural(workers.alive + workers.silent, "worker")} alive</a>`
    : "pulled by workers";
}

/** The lane of a pool in which runs wait the longest. */
const worst = (lanes) =>
  lanes.reduce((first, each) => ((each.oldest_age_seconds ?? -1) > (first.oldest_age_seconds ?? -1) ? each : first));

/** What is wrong in this queue. A hold-up that names no priority stands where runs of the pool wait the longest. */
function note(each, lanes, holdUps) {
  if (each.error) return html`<span class="t-fail"><${Said} text=${each.error} /></span>`;
  const own = holdUps.filter(
    (one) =>
      one.pool === each.pool &&
      (one.code === "queue_old"
        ? !each.priority || one.message.includes(`priority ${each.priority},`)
        : each === worst(lanes)),
  );
  return own.map(
    (one) =>
      html`<span class=${one.code === "queue_old" ? "t-retry" : "t-hold"}>${one.job_id ? html`<a class="link" href=${jobHref(one.job_id)}><${Said} text=${one.message} /></a>` : html`<${Said} text=${one.message} />`}</span>`,
  );
}
