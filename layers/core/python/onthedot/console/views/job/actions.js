// @ts-check
// What one can do with a job. What has no way back asks first, and each question shows the action as a command.
import { del, post, put } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { go, setQuery } from "../../lib/router.js";
import { exact } from "../../lib/time.js";
import { confirm } from "../../components/dialog.js";
import { announce } from "../../components/toast.js";

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
    announce(`That did not work: ${error.message}`, { tone: "fail" });
    refresh();
    return null;
  }
}

export const pause = (job, refresh) =>
  did(() => post(path(job, "/pause")), `${nameOf(job)} is paused. Runs that have started continue.`, refresh);
export const resume = (job, refresh) => did(() => post(path(job, "/resume")), `${nameOf(job)} is resumed`, refresh);

/** From the palette: ask first, since one does not see the job. */
export async function pauseOrResume(job, refresh, { asks = false } = {}) {
  const [verb, act, copy] = job.status === "PAUSED" ? ["Resume", resume, COPY.resume] : ["Pause", pause, COPY.pause];
  if (asks && !(await confirm({ title: `${verb} ${nameOf(job)}?`, action: verb, calls: copy(job.job_id) })))
    return null;
  return act(job, refresh);
}

/** Run now. `payload` undefined: that of the job. */
export async function runNow(job, refresh, payload, said) {
  const own = payload === undefined;
  const text =
    said ??
    (own
      ? "This starts one extra run with the job’s own payload. The schedule stays as it is."
      : "This starts one extra run with the payload you edited. The schedule stays as it is.");
  if (
    !(await confirm({
      title: `Run ${nameOf(job)} now?`,
      text,
      action: "Run now",
      calls: COPY.run(job.job_id, payload),
    }))
  )
    return null;
  const run = await did(() => post(path(job, "/run"), own ? {} : { payload }), "The run is due now", refresh);
  if (run?.execution_id) setQuery({ run: run.execution_id });
  return run;
}

export async function cancel(job, refresh) {
  const text =
    "It will not run again. Waiting runs are cancelled, and a worker that is running one is told to stop. This cannot be undone.";
  if (
    await confirm({
      title: `Cancel ${nameOf(job)}?`,
      text,
      action: "Cancel the job",
      danger: true,
      calls: COPY.cancel(job.job_id),
    })
  )
    await did(
      () => put(path(job, "/cancel")),
      (answer) =>
        `${nameOf(job)} ${answer?.status === "RUNNING" ? "is still running and will stop at its next heartbeat" : "is cancelled"}`,
      refresh,
    );
}

export async function remove(job) {
  const text = "Its history is deleted too. This cannot be undone.";
  if (
    !(await confirm({
      title: `Delete ${nameOf(job)}?`,
      text,
      action: "Delete the job",
      danger: true,
      calls: COPY.delete(job.job_id),
    }))
  )
    return;
  if (
    await did(
      () => del(path(job)),
      `${nameOf(job)} is deleted`,
      () => {},
    )
  )
    go("/jobs");
}

export async function redrive(run, refresh, said) {
  const body = { ids: [run.execution_id] };
  if (
    !(await confirm({
      title: `Redrive the run of ${exact(run.fire_time)}?`,
      text: said ?? "It starts over with all its attempts.",
      action: "Redrive 1 run",
      calls: COPY.redrive(body),
    }))
  )
    return;
  await did(
    () => post("dead-letters/redrive", body),
    (answer) =>
      answer.redriven
        ? "The run starts again"
        : `Not redriven: ${answer.refused?.[0]?.message ?? answer.refused?.[0]?.reason ?? "it is no longer a dead letter"}`,
    refresh,
  );
}
