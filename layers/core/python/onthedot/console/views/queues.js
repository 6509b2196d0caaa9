// The view *Queues*: how long the oldest waits in each queue, because the depth alone misleads.
import { html } from "../lib/html.js";
import { usePoll } from "../lib/poll.js";
import { href } from "../lib/router.js";
import { overview } from "../lib/session.js";
import { Head, Segments } from "../components/bits.js";
import { Empty, Polled } from "../components/states.js";
import { queueSentence } from "./queues/sentences.js";
import { QueueTable } from "./queues/table.js";

export const title = ({ query }) => (query.pool ? `Queues of pool ${query.pool}` : "Queues");

export default function View({ route }) {
  const { pool } = route.query;
  const poll = usePoll("queues");
  const all = poll.data?.queues ?? [];
  const pools = [...new Set(all.map((each) => each.pool))];
  const shown = pool ? all.filter((each) => each.pool === pool) : all;
  const holdUps = (overview.value?.hold_ups ?? []).filter((each) => each.pool && (!pool || each.pool === pool));
  const choices = [{ href: href("/queues"), label: "All pools", current: !pool }, ...pools.map((each) => ({ href: href("/queues", { pool: each }), label: each, current: each === pool }))];
  return html`<${Head} title="Queues" lead=${poll.data ? queueSentence(shown, holdUps) : "Runs of all tenants that wait for workers."}>
      <span class=${poll.stale ? "live off" : "live"}>${poll.stale ? "Not live" : "Live, every 5 s"}</span>${pools.length > 1 && html`<${Segments} label="Pool" choices=${choices} />`}<//>
    <${Polled} poll=${poll}>${() => (shown.length ? html`<${QueueTable} queues=${shown} holdUps=${holdUps} workers=${overview.value?.workers} />`
      : html`<${Empty} title=${pool ? `There is no pool ${pool}` : "There are no queues"} text="A pool has a queue for each priority."><a class="btn" href=${href("/queues")}>All pools</a><//>`)}<//>`;
}
