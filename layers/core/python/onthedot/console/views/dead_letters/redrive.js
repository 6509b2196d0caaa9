// @ts-check
// Run dead letters again: a preview, the progress with a way to stop, and the result.
import { html, useEffect, useRef, useState } from "../../lib/html.js";
import { get, post } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { count, plural } from "../../lib/format.js";
import { clock, duration, nowMs } from "../../lib/time.js";
import { Figure } from "../../charts/figure.js";
import { Button, Card, CopyAs } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { Failed, Loading } from "../../components/states.js";
import { announce } from "../../components/toast.js";
import { Verdict } from "./groups.js";
import { bodies, sizeOf } from "./query.js";

const SETTLE_MS = 300;
const NAMED = 5;

export function Redrive({ chosen, base, onDone, onRefresh }) {
  const [state, setState] = useState(/** @type {any} */ ({ step: "loading" }));
  const stop = useRef(null);
  const parts = bodies(chosen, base);
  const key = JSON.stringify(parts);
  const look = () => {
    const controller = new AbortController();
    setState({ step: "loading" });
    const timer = setTimeout(
      () =>
        previewOf(parts, controller.signal).then(
          (found) => setState({ step: "preview", found }),
          (error) => error.name !== "AbortError" && setState({ step: "failed", error }),
        ),
      SETTLE_MS,
    );
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  };
  useEffect(() => (state.step === "running" || state.step === "done" ? undefined : look()), [key]);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    const expected = state.found.matched;
    stop.current = new AbortController();
    setState({ step: "running", expected, done: { redriven: 0, refused: [], undecided: [] } });
    const done = await runAgain(parts, stop.current.signal, (soFar) =>
      setState({ step: "running", expected, done: soFar }),
    );
    setState({ step: "done", expected, done });
    announce(`${plural(done.redriven, "run")} ${done.redriven === 1 ? "starts" : "start"} again`, {
      tone: done.error ? "fail" : "ok",
    });
    onRefresh();
  };
  const size = sizeOf(chosen);
  const Step = { loading: Waiting, failed: Broken, preview: Preview, running: Running, done: Done }[state.step];
  return html`<${Card} title=${`Redrive ${plural(state.found?.matched ?? size, "run")}`} hint=${{ preview: "preview: nothing has been sent", running: "ten a second", done: "result" }[state.step]} className="redrive sticky">
    <${Step} ...${state} parts=${parts} groups=${Object.values(chosen.groups)} onStart=${start} onBack=${onDone} onRetry=${look} onStop=${() => stop.current.abort()} /><//>`;
}

const Waiting = () => html`<${Loading} rows=${3} label="Loading the preview" />`;

const Broken = ({ error, onRetry, onBack }) =>
  html`<${Failed} error=${error} onRetry=${onRetry} /><div class="below end"><${Button} onClick=${onBack}>Back<//></div>`;

function Preview({ found, parts, groups, onStart, onBack }) {
  const { matched, refused, more } = found;
  const end = clock(nowMs() + matched * PACE_MS);
  const told = groups.length === 1 && groups[0].group;
  return html`<ul class="checks">
      <li><${Mark} status=${matched ? "succeeded" : "pending"} /><span><b>${more ? "More than " : ""}${plural(matched, "run")} would run again</b>${matched ? `, ten a second, done by ${end}.` : "."}</span></li>
      ${refused.length > 0 && html`<li><${Mark} status="cancelled" tone="c-idle" /><span><b>${count(refused.length)} would be refused</b>: <${Said} text=${refused[0].reason} />.<${Others} list=${refused} /></span></li>`}
      ${told && html`<li class="plain"><${Verdict} group=${told} /></li>`}
      <li><${Mark} status="pending" /><span>Each keeps its idempotency key, so a target that has already handled it can return the same answer.</span></li></ul>
    ${matched > 0 && html`<div class="below"><${Pace} runs=${matched} /></div>`}
    <div class="below"><${CopyAs} calls=${parts.map(COPY.redrive)} /></div>
    <div class="below end"><${Button} onClick=${onBack}>Back<//>${matched > 0 && html`<${Button} kind="primary" icon="redo" onClick=${onStart}>Redrive ${plural(matched, "run")}<//>`}</div>`;
}

const Others = ({ list }) =>
  list.length > 1
    ? html`<details><summary>All ${count(list.length)}</summary><ul class="refused">${list.slice(0, 100).map((each) => html`<li><code>${each.id}</code> <${Said} text=${each.reason} /></li>`)}</ul></details>`
    : null;

function Running({ expected, done, onStop }) {
  const text = `${count(done.redriven)} of ${plural(expected, "run")}`;
  return html`<p role="status">${text} redriven</p><progress class="redriving" max=${Math.max(1, expected)} value=${done.redriven} aria-label=${text}></progress>
    <div class="below end"><${Button} onClick=${onStop}>Stop<//></div>`;
}

function Done({ expected, done, onBack }) {
  const { redriven, refused, undecided, error, stopped } = done;
  return html`<ul class="checks" role="status"><li><${Mark} status=${redriven ? "succeeded" : "pending"} /><span><b>${plural(redriven, "run")} ${redriven === 1 ? "starts" : "start"} again</b>, ten a second. A run that fails again comes back here.</span></li>
      ${stopped && html`<li><${Mark} status="paused" /><span><b>Stopped</b>: about ${plural(Math.max(0, expected - redriven), "run")} of ${count(expected)} are still dead letters.</span></li>`}
      ${
        refused.length > 0 &&
        html`<li><${Mark} status="cancelled" tone="c-idle" /><span><b>${plural(refused.length, "run")} refused</b>: <${Said} text=${refused
          .slice(0, NAMED)
          .map((each) => each.reason)
          .filter((each, place, list) => list.indexOf(each) === place)
          .join("; ")} />.<${Others} list=${refused} /></span></li>`
      }
      ${undecided.length > 0 && html`<li><${Mark} status="waiting" /><span><b>${plural(undecided.length, "run")} may run again</b>: <${Said} text=${undecided[0].reason} />.</span></li>`}
      ${error && html`<li><${Mark} status="failed" /><span><b>A call failed</b>: <${Said} text=${error.message} /> Redrive the rest again.</span></li>`}</ul>
    <div class="below end"><${Button} kind="primary" onClick=${onBack}>Done<//></div>`;
}

/** Ten dots a second, from now on. */
function Pace({ runs }) {
  const seconds = (runs * PACE_MS) / 1000;
  const label = `${plural(runs, "run")}, ten a second, over ${duration(Math.max(1000, seconds * 1000))}`;
  return html`<${Figure} label=${label} height=${36} draw=${(width) => {
    const gap = 11;
    const most = Math.min(runs, Math.floor((width - 12) / gap));
    const ticks = Array.from({ length: Math.floor(most / 10) + 1 }, (_, second) => second);
    return html`<path class="base" d=${`M2 12H${width - 2}`} />${ticks.map((second) => html`<path class="tick" d=${`M${8 + second * 10 * gap - gap / 2} 6v12`} /><text class=${second ? "c" : ""} x=${second ? 8 + second * 10 * gap - gap / 2 : 2} y="32">${second ? `+${second} s` : "now"}</text>`)}
      ${Array.from({ length: most }, (_, place) => html`<circle class="k-nexto" cx=${8 + place * gap} cy="12" r="3.400" />`)}${most < runs && html`<text class="e" x=${width} y="32">… +${duration(seconds * 1000, { units: 1 })}</text>`}`;
  }} />`;
}

// The calls of a redrive. Runs are named by id, some at a time, so that Stop stops between them.

const PATH = "dead-letters/redrive";
const AT_ONCE = 20;
const PAGE = 100;
const MOST_LOOKS = 5;

/** Milliseconds between two runs that are run again. */
const PACE_MS = 100;

/** What these calls would do: {matched, refused, more}. `more`: there are more than were counted. */
async function previewOf(parts, signal) {
  const found = { matched: 0, refused: [], more: false };
  for (const part of parts) {
    let cursor;
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const answer = await post(PATH, { ...part, dry_run: true, ...(cursor && { cursor }) }, { signal });
      found.matched += answer.matched;
      found.refused.push(...answer.refused);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    found.more ||= Boolean(cursor);
  }
  return found;
}

/** Run them again. `tell` gets the sum after each call. Return {redriven, refused, undecided, stopped, error}. */
async function runAgain(parts, signal, tell) {
  const done = { redriven: 0, refused: [], undecided: [], stopped: false, error: null };
  const to = new Date(nowMs() + 1).toISOString();
  try {
    for (const part of parts) {
      for await (const ids of part.ids ? chunks(part.ids) : foundBy({ ...part, to })) {
        if (signal.aborted) return { ...done, stopped: true };
        // The call itself is not cut off: its answer counts what it did.
        const answer = await post(PATH, { ids });
        done.redriven += answer.redriven;
        done.refused.push(...answer.refused);
        done.undecided.push(...answer.undecided);
        tell({ ...done });
      }
    }
  } catch (error) {
    return { ...done, error };
  }
  return done;
}

function* chunks(ids) {
  for (let at = 0; at < ids.length; at += AT_ONCE) yield ids.slice(at, at + AT_ONCE);
}

/** The ids of the dead letters that pass a filter. A run that fails again meanwhile is later than `to`. */
async function* foundBy(filter) {
  let cursor;
  do {
    const page = await get("dead-letters", { ...filter, limit: PAGE, cursor });
    yield* chunks(page.dead_letters.map((run) => run.execution_id));
    cursor = page.next_cursor;
  } while (cursor);
}
