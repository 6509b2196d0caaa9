// The view *Workers*: pull workers, what each can do, how busy it is, and when it was last heard.
import { html } from "../lib/html.js";
import { usePoll } from "../lib/poll.js";
import { overview } from "../lib/session.js";
import { Head } from "../components/bits.js";
import { Empty, Polled } from "../components/states.js";
import { OneWorker } from "./workers/one.js";
import { WorkerTable } from "./workers/list.js";
import { fleetSentence } from "./workers/sentences.js";

export const title = ({ params }) => (params.id ? `Worker ${params.id}` : "Workers");

export default function View({ route }) {
  return route.params.id ? html`<${OneWorker} id=${route.params.id} />` : html`<${All} />`;
}

function All() {
  const poll = usePoll("workers");
  const workers = poll.data?.workers ?? [];
  const holdUps = (overview.value?.hold_ups ?? []).filter((each) => each.code === "no_worker");
  return html`<${Head} title="Workers" lead=${poll.data ? fleetSentence(workers, holdUps) : "Pull workers that may run your jobs."}><span class=${poll.stale ? "live off" : "live"}>${poll.stale ? "Not live" : "Live, every 5 s"}</span><//>
    <${Polled} poll=${poll}>${() => (workers.length ? html`<${WorkerTable} workers=${workers} holdUps=${holdUps} />`
      : html`<${Empty} title="No worker has registered" text="Targets over HTTP, Lambda and AWS need none. Programs and Python functions run on pull workers: start one beside your code."><pre class="code">onthedot worker --app app:jobs</pre><//>`)}<//>`;
}
