// @ts-check
// The bar of actions on many jobs: a dry run first, then progress with Stop, then the result with a way back.
import { html, useEffect, useRef, useState } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { count, plural } from "../../lib/format.js";
import { useKeys } from "../../lib/keys.js";
import { jobHref } from "../../lib/router.js";
import { Button, CopyAs } from "../../components/bits.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { tell } from "../../components/toast.js";
import { ACTIONS, act, asError, chunks, dryRun, filters } from "./bulk_run.js";

const jobs = (n, more) => (more ? `${count(n)} or more jobs` : plural(n, "job"));

/** `scope` is {jobs} or {filter}; `size` its number or null; `onAll` chooses all that match; `onDone` reads the list again. */
export function Bulk({ scope, size, allText, onAll, onClose, onDone, focusFirst }) {
  const [chosen, setChosen] = useState(null);
  const [plan, setPlan] = useState(null);
  const [work, setWork] = useState(null);
  const bar = useRef(null);
  const stop = useRef(false);
  const key = JSON.stringify(scope.filter ?? scope.jobs.map((job) => job.job_id));
  useEffect(() => {
    setChosen(null);
    setPlan(null);
  }, [key]);
  useEffect(() => {
    if (focusFirst) bar.current?.querySelector(".do button")?.focus();
  }, [focusFirst]);
  useEffect(
    () => () => {
      stop.current = true;
    },
    [],
  );
  const back = () => {
    if (work?.running) return false;
    if (work) {
      setWork(null);
      onClose();
    } else if (chosen) setChosen(null);
    else onClose();
    return true;
  };
  useKeys({ Escape: back });
  const choose = async (action) => {
    setChosen(action);
    setPlan(null);
    try {
      const found = await dryRun(action, scope);
      setPlan({ action, ...found });
      tell(`Dry run of ${action}: ${found.text}`);
    } catch (error) {
      setPlan({ action, error: asError(error) });
    }
  };
  const go = async (action, what, total) => {
    stop.current = false;
    const base = { action, total, done: 0, failed: 0, seen: 0, failures: [], ids: [], running: true };
    setWork(base);
    try {
      const end = await act(
        action,
        what,
        (step) => setWork({ ...base, ...step }),
        () => stop.current,
      );
      setWork({ ...base, ...end, running: false, stopped: stop.current });
      tell(`${plural(end.done, "job")} ${ACTIONS[action].done}, ${end.failed} failed`);
    } catch (error) {
      setWork((before) => ({ ...before, running: false, error: asError(error) }));
    }
    onDone();
  };
  if (work)
    return html`<section class="bulk" aria-label="Bulk actions" ref=${bar}><${Progress} work=${work} onStop=${() => {
      stop.current = true;
    }} onBack=${back}
    onUndo=${() => go(ACTIONS[work.action].back, { jobs: work.ids.map((id) => ({ job_id: id, status: work.action === "pause" ? "PAUSED" : "ACTIVE" })) }, work.ids.length)} /></section>`;
  return html`<section class="bulk" aria-label="Bulk actions" ref=${bar}>
    <div class="sum"><strong>${scope.filter ? "All that match" : `${count(size)} selected`}</strong>${onAll && html`<button type="button" class="linkish" onClick=${onAll}>${allText}</button>`}</div>
    <div class="do">${Object.entries(ACTIONS).map(([action, { label, icon, danger }]) => html`<${Button} small icon=${icon} kind=${danger ? "danger" : ""} aria-expanded=${String(chosen === action)} onClick=${() => choose(action)}>${label}<//>`)}</div>
    ${chosen && html`<${Plan} action=${chosen} plan=${plan?.action === chosen ? plan : null} scope=${scope} onBack=${back} onGo=${() => go(chosen, scope, plan.acts)} />`}</section>`;
}

/** What would happen, and the button that lets it happen. */
function Plan({ action, plan, scope, onBack, onGo }) {
  const { verb, note, danger } = ACTIONS[action];
  const parts = scope.jobs
    ? [...chunks(scope.jobs)].map((some) => ({ ids: some.map((job) => job.job_id) }))
    : filters(scope.filter).map((filter) => ({ filter }));
  const calls = parts.map((what) => COPY.bulk({ action, ...what }));
  return html`<div class="dry"><p><strong>Dry run of ${action}:</strong> ${plan ? (plan.error ? html`<span class="t-fail"><${Said} text=${plan.error.message} /></span>` : `${plan.text} ${note}`) : html`<span role="status" aria-label="Loading the dry run">counting …</span>`}</p>
    <details class="fold-as"><summary>CLI, curl, Python</summary><${CopyAs} calls=${calls} /></details></div>
    <div class="go"><${Button} small kind="quiet" hotkey="Esc" onClick=${onBack}>Back<//>
      ${plan && !plan.error && html`<${Button} small kind=${danger ? "danger" : "primary"} disabled=${!plan.acts} onClick=${onGo}>${`${verb} ${jobs(plan.acts, plan.more)}`}<//>`}</div>`;
}

function Progress({ work, onStop, onBack, onUndo }) {
  const { action, running, done, failed, total, seen, failures, ids, stopped, forgot, error } = work;
  const { doing, done: past, back } = ACTIONS[action];
  const left = Math.max(0, total - done - failed);
  const title = running ? `${doing} ${plural(Math.max(total, seen), "job")}` : `${plural(done, "job")} ${past}`;
  const first = failures[0];
  return html`<div class="sum"><strong>${title}</strong><span class="muted">${count(done)} done, ${count(failed)} failed${running ? `, ${count(left)} left` : stopped ? ", stopped" : ""}</span></div>
    <div class="do"><progress class="bar" max=${Math.max(1, total)} value=${Math.min(total, done + failed)} aria-label=${`${title}: ${done + failed} of ${total}`}></progress></div>
    <div class="dry">${error && html`<p class="t-fail"><strong>It stopped:</strong> <${Said} text=${error.message} /></p>`}
      ${first && html`<p><span class="t-fail">${first.name ?? first.id} was not ${past}:</span> <${Said} text=${first.message} />. <a class="link" href=${jobHref(first.id)}>Open it</a></p>`}
      ${failures.length > 1 && html`<details class="fold-as"><summary>${count(failures.length - 1)} more of ${count(failed)} that failed</summary><ul class="fails">${failures.slice(1).map((each) => html`<li><${Mark} status="failed" /><a class="link" href=${jobHref(each.id)}>${each.name ?? each.id}</a> <${Said} text=${each.message} /></li>`)}</ul></details>`}
      ${running ? html`<p class="faint">If you leave this page, the rest is not ${past}.</p>` : !first && !error && html`<p class="faint">${stopped ? "Stopped. " : ""}What is ${past} stays ${past}.</p>`}</div>
    <div class="go">${running ? html`<${Button} small onClick=${onStop}>Stop<//>` : html`${back && ids.length > 0 && !forgot && html`<${Button} small icon="redo" onClick=${onUndo}>${`${ACTIONS[back].verb} the ${count(ids.length)} again`}<//>`}<${Button} small kind="primary" onClick=${onBack}>Close<//>`}</div>`;
}
