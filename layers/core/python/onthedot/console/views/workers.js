// @ts-check
// The view *Workers*: pull workers, what each can do, how busy it is, and when it was last heard.
import { html } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { href, jobHref } from "../lib/router.js";
import { overview } from "../lib/session.js";
import { ms, now, wholeDuration } from "../lib/time.js";
import { Card, Head } from "../components/bits.js";
import { Mark } from "../components/marks.js";
import { Said } from "../components/said.js";
import { Empty, Polled } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { Cpu, Heartbeat, Places, Space, State, fleetSentence, isAlive } from "./workers/gauges.js";
import { OneWorker } from "./workers/one.js";

export const title = ({ params }) => (params.id ? `Worker ${params.id}` : "Workers");

export default function View({ route }) {
  return route.params.id ? html`<${OneWorker} id=${route.params.id} />` : html`<${All} />`;
}

function All() {
  const poll = usePoll("workers");
  const workers = poll.data?.workers ?? [];
  const holdUps = (overview.value?.hold_ups ?? []).filter((each) => each.code === "no_worker");
  return html`<${Head} title="Workers" lead=${poll.data ? fleetSentence(workers, holdUps) : "Pull workers that can run your jobs."}><span class=${poll.stale ? "live off" : "live"}>${poll.stale ? "Not live" : "Live, every 5 s"}</span><//>
    <${Polled} poll=${poll}>${() =>
      workers.length
        ? html`<${WorkerTable} workers=${workers} holdUps=${holdUps} />`
        : html`<${Empty} title="No workers yet" text="HTTP, Lambda and AWS targets need no worker. Programs and Python functions run on pull workers: start one next to your code."><pre class="code">onthedot worker --app app:jobs</pre><//>`}<//>`;
}

// The table of workers.

const MOST_TAGS = 2;
const ORDER = ["LOST", "DRAINING", "ACTIVE", "STOPPED"];

const workerHref = (id) => href(`/workers/${encodeURIComponent(id)}`);

/** What a worker can do: kinds of targets and own words first, handlers after them. */
export function abilities(worker) {
  const plain = worker.capabilities.filter((each) => !each.includes(":"));
  return [...plain, ...worker.capabilities.filter((each) => each.includes(":"))];
}

function CanDo({ worker }) {
  const all = abilities(worker);
  const shown = all.filter((each, place) => place === 0 || !each.includes(":")).slice(0, MOST_TAGS);
  const more = all.length - shown.length;
  return html`<span title=${all.join(", ")}>${shown.map((each) => html`<span class="tag">${each}</span> `)}${more > 0 && html`<span class="faint">+${count(more)}</span>`}</span>`;
}

function WorkerTable({ workers, holdUps }) {
  const alive = workers.filter(isAlive).length;
  const first = workers[0];
  const rows = [...workers].sort(
    (one, other) =>
      ORDER.indexOf(one.status) - ORDER.indexOf(other.status) || one.worker_id.localeCompare(other.worker_id),
  );
  const storage = workers.some((each) => each.resources.storage_mb);
  const up = (worker) =>
    isAlive(worker)
      ? `up ${wholeDuration(Math.max(0, now.value - ms(worker.registered_at)), { units: 2 })}`
      : `registered ${wholeDuration(Math.max(0, now.value - ms(worker.registered_at)), { units: 1 })} ago`;
  const columns = [
    { id: "state", label: "State", className: "k1", cell: (worker) => html`<${State} worker=${worker} />` },
    {
      id: "worker",
      label: "Worker",
      className: "k2",
      cell: (worker) =>
        html`<a class="name mono" href=${workerHref(worker.worker_id)}>${worker.worker_id}</a><span class="sub cut">${[worker.host, up(worker)].filter(Boolean).join(", ")}</span>`,
    },
    { id: "pool", label: "Pool", className: "k3 x1", cell: (worker) => worker.pool },
    { id: "can", label: "Can do", className: "k4 x1", cell: (worker) => html`<${CanDo} worker=${worker} />` },
    { id: "places", label: "Places", className: "k5", cell: (worker) => html`<${Places} worker=${worker} />` },
    { id: "cpu", label: "CPU", className: "k7 m2 x1", cell: (worker) => html`<${Cpu} worker=${worker} />` },
    {
      id: "memory",
      label: "Memory",
      className: "k8 m2 x1",
      cell: (worker) => html`<${Space} worker=${worker} field="memory_mb" name="Memory" />`,
    },
    ...(storage
      ? [
          {
            id: "storage",
            label: "Storage",
            className: "k8 m2 x1",
            cell: (worker) => html`<${Space} worker=${worker} field="storage_mb" name="Storage" />`,
          },
        ]
      : []),
    { id: "beat", label: "Heartbeat", className: "k9 m2", cell: (worker) => html`<${Heartbeat} worker=${worker} />` },
    {
      id: "running",
      label: "Running",
      num: true,
      className: "k6 x1",
      cell: (worker) =>
        worker.running.length
          ? html`<a class=${isAlive(worker) ? null : "faint"} href=${workerHref(worker.worker_id)}>${isAlive(worker) ? "" : "had "}${plural(worker.running.length, "run")}</a>`
          : html`<span class="faint">–</span>`,
    },
  ];
  return html`<div class="stack"><${Card} title="Workers" hint=${`${count(alive)} of ${count(workers.length)} alive; a filled dot is a place in use`} right=${html`<span class="wide">lost after ${first.lease_seconds + 5} s without a heartbeat</span>`} flush>
    <${DataTable} columns=${columns} rows=${rows} rowKey=${(worker) => worker.worker_id} caption="Table of workers" className="wk" /><//>
    ${holdUps.length > 0 && html`<${Card} title="No worker can run these" flush><ul class="causes">${holdUps.map((each) => html`<li><a href=${each.job_id ? jobHref(each.job_id) : href("/queues", { pool: each.pool })}><${Mark} status="waiting" /><span class="who"><b>${each.name ?? each.job_id ?? each.pool}</b>${each.runs > 1 && html`<span class="times">×${count(each.runs)}</span>`}</span><span class="when"></span><span class="cause whole"><${Said} text=${each.message} /></span></a></li>`)}</ul><//>`}</div>`;
}
