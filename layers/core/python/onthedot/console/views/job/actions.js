// What one can do with a job. What has no way back asks first, and each question shows the action as a command.
import { del, post, put } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { go, setQuery } from "../../lib/router.js";
import { confirm } from "../../components/dialog.js";
import { announce } from "../../components/toast.js";
import { exact } from "./said.js";

const path = (job, rest = "") => `jobs/${encodeURIComponent(job.job_id)}${rest}`;
const nameOf = (job) => job.name ?? job.job_id;

/** Do it, say so, and read again. Return whether it was done; the API's own words say why not. */
async function did(call, done, refresh) {
  try {
    const answer = await call();
    announce(typeof done === "function" ? done(answer) : done);
    refresh();
    return answer ?? true;
  } catch (error) {
    announce(`Not done: ${error.message}`, { tone: "fail" });
    refresh();
    return null;
  }
}

export const pause = (job, refresh) => did(() => post(path(job, "/pause")), `${nameOf(job)} is paused. No run that has started is stopped.`, refresh);
export const resume = (job, refresh) => did(() => post(path(job, "/resume")), `${nameOf(job)} is resumed`, refresh);

/** From the palette: ask first, since one does not see the job. */
export async function pauseOrResume(job, refresh, { asks = false } = {}) {
  const [verb, act, copy] = job.status === "PAUSED" ? ["Resume", resume, COPY.resume] : ["Pause", pause, COPY.pause];
  if (asks && !(await confirm({ title: `${verb} ${nameOf(job)}?`, action: verb, forms: copy(job.job_id) }))) return null;
  return act(job, refresh);
}

/** Run now. `payload` undefined: that of the job. */
export async function runNow(job, refresh, payload, said) {
  const own = payload === undefined;
  const text = said ?? (own ? "It gets one run beside its schedule, with its own payload." : "It gets one run beside its schedule, with the payload that you edited.");
  if (!(await confirm({ title: `Run ${nameOf(job)} now?`, text, action: "Run now", forms: COPY.run(job.job_id, payload) }))) return null;
  const run = await did(() => post(path(job, "/run"), own ? {} : { payload }), "It is due now", refresh);
  if (run?.execution_id) setQuery({ run: run.execution_id });
  return run;
}

export async function cancel(job, refresh) {
  const text = "It starts no run any more. Runs that wait are cancelled, and a worker that runs one is told to stop. There is no way back.";
  if (await confirm({ title: `Cancel ${nameOf(job)}?`, text, action: "Cancel the job", danger: true, forms: COPY.cancel(job.job_id) })) await did(() => put(path(job, "/cancel")), (answer) => `${nameOf(job)} ${answer?.status === "RUNNING" ? "still runs: cancel was asked for; the run stops at its next heartbeat" : "is cancelled"}`, refresh);
}

export async function remove(job) {
  const text = "Its history goes with it. There is no way back.";
  if (!(await confirm({ title: `Delete ${nameOf(job)}?`, text, action: "Delete the job", danger: true, forms: COPY.delete(job.job_id) }))) return;
  if (await did(() => del(path(job)), `${nameOf(job)} is deleted`, () => {})) go("/jobs");
}

export async function redrive(job, run, refresh, said) {
  const body = { ids: [run.execution_id] };
  if (!(await confirm({ title: `Redrive the run of ${exact(run.fire_time)}?`, text: said ?? "It starts again with all its attempts.", action: "Redrive 1 run", forms: COPY.redrive(body) }))) return;
  await did(() => post("dead-letters/redrive", body), (answer) => (answer.redriven ? "The run starts again" : `Not redriven: ${answer.refused?.[0]?.message ?? answer.refused?.[0]?.reason ?? "it is no dead letter any more"}`), refresh);
}
