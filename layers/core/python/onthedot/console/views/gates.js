// @ts-check
// The view *Gates*: limits that a tenant gives its own jobs, how full they are, and who waits.
import { html, useState } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { go, setQuery } from "../lib/router.js";
import { Acts, overview } from "../lib/session.js";
import { AgeLine } from "../charts/dots.js";
import { Button, Card, Head } from "../components/bits.js";
import { Pill } from "../components/marks.js";
import { Empty, Polled } from "../components/states.js";
import { DataTable } from "../components/table.js";
import { GateForm } from "./gates/form.js";
import { OneGate, gateHref } from "./gates/one.js";
import { ageText, limitWords, pillOf, waitingText } from "./gates/words.js";

export const title = (route) => (route.params.name ? `Gate ${route.params.name}` : "Gates");

export default function View({ route }) {
  return route.params.name
    ? html`<${OneGate} key=${route.params.name} name=${route.params.name} />`
    : html`<${Gates} query=${route.query} />`;
}

function Gates({ query }) {
  const poll = usePoll("gates", { cursor: query.cursor }, { every: 5000 });
  const [making, setMaking] = useState(false);
  const make = () => setMaking(true);
  const done = (gate) => {
    setMaking(false);
    go(`/gates/${encodeURIComponent(gate.name)}`);
  };
  return html`<${Head} title="Gates" lead=${poll.data ? leadOf(poll.data.gates) : "Limits you set on jobs that share a resource."}><${Acts}><${Button} icon="plus" onClick=${make}>New gate<//><//><//>
    <${Polled} poll=${poll}>${(data) => html`<${List} data=${data} query=${query} onMake=${make} />`}<//><${TenantLimits} />
    ${making && html`<${GateForm} onClose=${() => setMaking(false)} onDone=${done} />`}`;
}

function leadOf(gates) {
  const stopped = gates.filter((gate) => gate.paused && gate.waiting);
  const waiting = gates.reduce((sum, gate) => sum + (gate.waiting ?? 0), 0);
  if (!gates.length) return "Limits you set on jobs that share a resource.";
  if (!waiting) return `${plural(gates.length, "gate")}. No runs are waiting.`;
  const held = stopped.length
    ? ` ${stopped
        .map((gate) => gate.name)
        .slice(0, 3)
        .join(", ")} ${stopped.length === 1 ? "is" : "are"} paused while runs wait.`
    : "";
  return `${plural(gates.length, "gate")}. ${plural(waiting, "run")} ${waiting === 1 ? "waits" : "wait"}.${held}`;
}

function List({ data, query, onMake }) {
  const { gates, next_cursor: next } = data;
  if (!gates.length && !query.cursor)
    return html`<${Empty} title="No gates yet" text="A gate limits how many runs go on at once, or start each second, across all jobs that name it: five concurrent calls to a payment provider, for example."><${Acts}><${Button} kind="primary" icon="plus" onClick=${onMake}>New gate<//><//><//>`;
  const turn = (step) =>
    (step < 0
      ? query.cursor && (history.back(), true)
      : next && (setQuery({ cursor: next }, { replace: false }), true)) || false;
  const columns = [
    {
      id: "name",
      label: "Gate",
      cell: (gate) =>
        html`<a class="name" href=${gateHref(gate.name)}>${gate.name}</a><span class="sub">${limitWords(gate)}</span>`,
    },
    { id: "state", label: "State", className: "g-st", cell: (gate) => html`<${Pill} ...${pillOf(gate)} />` },
    { id: "use", label: "In use", className: "g-use", cell: (gate) => html`<${Use} gate=${gate} />` },
    {
      id: "waiting",
      label: "Waiting",
      num: true,
      className: "g-wait",
      cell: (gate) => html`<span class=${gate.waiting ? "big" : "faint"}>${waitingText(gate)}</span>`,
    },
    {
      id: "oldest",
      label: "Oldest",
      num: true,
      className: "g-age",
      cell: (gate) => ageText(gate.oldest_waiting_seconds),
    },
    {
      id: "line",
      label: "Age of the oldest",
      hideLabel: true,
      className: "g-line",
      cell: (gate) =>
        html`<${AgeLine} seconds=${gate.oldest_waiting_seconds} label=${gate.oldest_waiting_seconds === null ? "No runs are waiting" : `The oldest has waited ${ageText(gate.oldest_waiting_seconds)}`} />`,
    },
  ];
  return html`<${Card} title="Gates" hint="the dot shows how long the oldest run has waited; marks at 1 s, 1 min, 1 h" flush><${DataTable} columns=${columns} rows=${gates} rowKey=${(gate) => gate.name} caption="Gates by name" className="gatelist" onPage=${turn} />
    ${(next || query.cursor) && html`<div class="pager"><span>${count(gates.length)} on this page</span><span class="r">${query.cursor && html`<button type="button" class="btn small" onClick=${() => turn(-1)}>Before<kbd aria-hidden="true">[</kbd></button>`}${next && html`<button type="button" class="btn small" onClick=${() => turn(1)}>Next<kbd aria-hidden="true">]</kbd></button>`}</span></div>`}<//>`;
}

/** Places that are taken, as a bar when there is a limit. */
function Use({ gate }) {
  if (gate.in_use === null) return html`<span class="faint">unavailable</span>`;
  if (gate.in_flight === null) return html`${count(gate.in_use)} run`;
  const part = gate.in_flight ? Math.min(1, gate.in_use / gate.in_flight) : 0;
  return html`<span class="guse"><svg class="meter" viewBox="0 0 56 6" preserveAspectRatio="none" aria-hidden="true"><rect class="bar-soft" width="56" height="6" rx="1" /><rect class=${part >= 1 ? "bar-hold" : "bar-ok"} width=${56 * part} height="6" rx="1" /></svg>${count(gate.in_use)} of ${count(gate.in_flight)}</span>`;
}

/** Limits that an admin gave the whole tenant; each run passes them before any gate. */
function TenantLimits() {
  const limits = overview.value?.limits;
  if (!limits || (limits.in_flight === null && limits.per_second === null)) return null;
  return html`<div class="below2"><${Card} title=${`Limits of tenant ${overview.value.tenant}`} hint="set by an admin; they apply before any gate"><dl class="kv"><dt>At a time</dt><dd>${limits.in_flight === null ? "no limit" : count(limits.in_flight)}</dd><dt>Per second</dt><dd>${limits.per_second ?? "no limit"}</dd></dl><//></div>`;
}
