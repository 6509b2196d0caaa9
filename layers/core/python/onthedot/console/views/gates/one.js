// @ts-check
// One gate, or one key of it: why runs wait, who has its places, who waits, and its keys.
import { html, useState } from "../../lib/html.js";
import { del, put } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { count, plural } from "../../lib/format.js";
import { useKeys } from "../../lib/keys.js";
import { usePoll } from "../../lib/poll.js";
import { go, href, jobHref } from "../../lib/router.js";
import { Acts, mayAct } from "../../lib/session.js";
import { Ago, Button, Card, CopyAs, Head } from "../../components/bits.js";
import { confirm } from "../../components/dialog.js";
import { Pill } from "../../components/marks.js";
import { Polled } from "../../components/states.js";
import { DataTable } from "../../components/table.js";
import { announce } from "../../components/toast.js";
import { GateForm } from "./form.js";
import { pillOf, waitingText, whyOf } from "./words.js";

export const gateHref = (name) => href(`/gates/${encodeURIComponent(name)}`);

export function OneGate({ name }) {
  const poll = usePoll(`gates/${encodeURIComponent(name)}`, {}, { every: 5000 });
  if (!poll.data)
    return html`<${Head} title=${name} crumbs=${html`<a href="#/gates">Gates</a>`} /><${Polled} poll=${poll} />`;
  return html`<${Polled} poll=${poll}>${(gate) => html`<${Whole} gate=${gate} refresh=${poll.refresh} />`}<//>`;
}

function Whole({ gate, refresh }) {
  const [editing, setEditing] = useState(false);
  const [base, key] = gate.name.split(/:(.*)/s);
  const isKey = key !== undefined;
  const pause = () => setPaused(gate, !gate.paused, refresh);
  useKeys(mayAct.value && !isKey ? { p: pause, e: () => setEditing(true) } : {});
  const crumbs = html`<a href="#/gates">Gates</a>${isKey && html`<span aria-hidden="true">/</span><a href=${gateHref(base)}>${base}</a>`}`;
  const why = whyOf(gate);
  return html`<div class="head wf"><div><nav class="crumbs" aria-label="Place">${crumbs}</nav><div class="title"><h1>${isKey ? `${base}, key ${key}` : gate.name}</h1><${Pill} ...${pillOf(gate)} /></div></div>
      <div class="acts">${
        !isKey &&
        html`<${Acts}><${Button} icon=${gate.paused ? "play" : "pause"} hotkey="P" onClick=${pause}>${gate.paused ? "Resume" : "Pause"}<//>
        <${Button} icon="edit" hotkey="E" onClick=${() => setEditing(true)}>Set limits<//><${Button} kind="danger" onClick=${() => deleteGate(gate)}>Delete<//><//>`
      }</div></div>
    <section class="card why" aria-labelledby="why-g"><div><h2 id="why-g">${gate.waiting ? "Why runs wait" : "Now"}</h2><p class="say"><b>${why.strong}</b> ${why.text}</p></div></section>
    <div class="grid cols-rail"><div class="stack"><${Waiting} gate=${gate} /><${Holders} gate=${gate} />${gate.waiting_keys > 0 && html`<${Keys} gate=${gate} base=${base} />`}</div>
      <div class="stack"><${Card} title="Limits"><dl class="kv"><dt>At a time</dt><dd>${gate.in_flight === null ? "no limit" : count(gate.in_flight)}</dd><dt>Per second</dt><dd>${gate.per_second ?? "no limit"}</dd>
          ${gate.per_second !== null && html`<dt>Burst</dt><dd>${gate.burst ?? 1}</dd>`}<dt>In use</dt><dd>${gate.in_use === null ? "–" : gate.in_flight === null ? count(gate.in_use) : `${count(gate.in_use)} of ${count(gate.in_flight)}`}</dd><dt>Waiting</dt><dd>${waitingText(gate)}</dd>
          ${gate.changed_at && html`<dt>Set</dt><dd><${Ago} at=${gate.changed_at} />${gate.changed_by && ` by ${gate.changed_by}`}</dd>`}</dl>
          <div class="below"><${CopyAs} label="Show it as a command" calls=${COPY.showGate(gate.name)} /></div><//>
        ${!isKey && html`<${Acts}><${Card} title=${gate.paused ? "Resume" : "Pause"} hint="the same as a command"><${CopyAs} calls=${COPY.gate(gate.name, pausedBody(gate, !gate.paused), gate.paused ? "resume" : "pause")} /><//><//>`}</div></div>
    ${
      editing &&
      html`<${GateForm} gate=${gate} onClose=${() => setEditing(false)} onDone=${() => {
        setEditing(false);
        refresh();
      }} />`
    }`;
}

const runLink = (run) =>
  run.job_id
    ? html`<a class="name" href=${jobHref(run.job_id, { run: run.execution_id })}>${run.name ?? run.job_id}</a><span class="sub mono">${run.execution_id}</span>`
    : html`<span class="mono">${run.execution_id}</span>`;

function Waiting({ gate }) {
  const runs = gate.first_waiting ?? [];
  const columns = [
    { id: "run", label: "Run", cell: runLink },
    { id: "due", label: "Due", cell: (run) => html`<${Ago} at=${run.fire_time} />` },
  ];
  return html`<${Card} title="Who waits" hint=${gate.waiting > runs.length ? `the ${count(runs.length)} oldest of ${waitingText(gate)}` : "the oldest first"} flush>
    ${runs.length ? html`<${DataTable} columns=${columns} rows=${runs} rowKey=${(run) => run.execution_id} caption="Runs that wait at the gate, the oldest first" className="grows" />` : html`<p class="pad faint">No runs are waiting.</p>`}<//>`;
}

function Holders({ gate }) {
  const columns = [
    { id: "run", label: "Run", cell: runLink },
    { id: "since", label: "Since", cell: (run) => html`<${Ago} at=${run.since} />` },
    {
      id: "worker",
      label: "Worker",
      cell: (run) =>
        run.worker_id
          ? html`<a class="mono" href=${href(`/workers/${encodeURIComponent(run.worker_id)}`)}>${run.worker_id}</a>`
          : html`<span class="faint">not started yet</span>`,
    },
  ];
  return html`<${Card} title="Who holds its places" hint=${gate.in_flight === null ? plural(gate.in_use ?? 0, "attempt") : `${count(gate.in_use ?? 0)} of ${plural(gate.in_flight, "place")}`} flush>
    ${gate.holders.length ? html`<${DataTable} columns=${columns} rows=${gate.holders} rowKey=${(run) => `${run.execution_id} ${run.since}`} caption="Attempts that have a place, longest first" className="grows" keys=${false} />` : html`<p class="pad faint">No attempt holds a place.</p>`}<//>`;
}

/** Each key has the limits of the gate to itself. */
const Keys = ({
  gate,
  base,
}) => html`<${Card} title="Keys at which runs wait" hint=${`${count(gate.waiting_keys)}${gate.waiting_keys_is_more ? "+" : ""}; each key has these limits to itself`}>
  <ul class="chips">${gate.first_waiting_keys.map((key) => html`<li key=${key}><a class="chip" href=${gateHref(`${base}:${key}`)}>${key}</a></li>`)}</ul><//>`;

// Pause, resume and delete a gate.

const path = (name) => `gates/${encodeURIComponent(name)}`;
const limitsOf = ({ in_flight, per_second, burst }) => ({ in_flight, per_second, burst });

/** The body that pauses or resumes: PUT replaces a gate, so it has all limits. */
const pausedBody = (gate, paused) => ({ ...limitsOf(gate), paused });

async function setPaused(gate, paused, refresh) {
  await act(
    () => put(path(gate.name), pausedBody(gate, paused)),
    paused ? `Gate ${gate.name} is paused` : `Gate ${gate.name} is resumed`,
  );
  refresh();
}

async function deleteGate(gate) {
  const waits = gate.waiting
    ? `${waitingText(gate)} ${gate.waiting === 1 ? "run that waits" : "runs that wait"} here, and jobs`
    : "Jobs";
  const yes = await confirm({
    title: `Delete gate ${gate.name}?`,
    text: `${waits} that still name it go on without it, and its limits no longer apply.`,
    action: "Delete gate",
    danger: true,
    calls: COPY.deleteGate(gate.name),
  });
  if (yes && (await act(() => del(path(gate.name)), `Gate ${gate.name} is deleted`))) go("/gates");
}

async function act(send, done) {
  try {
    await send();
    announce(done);
    return true;
  } catch (error) {
    announce(error.message, { tone: "fail" });
    return false;
  }
}
