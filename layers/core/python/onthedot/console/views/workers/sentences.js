// One sentence about workers: what is wrong first, else how they are.
import { count, plural } from "../../lib/format.js";
import { listed } from "../../lib/words.js";
import { ms, nowMs, wholeDuration } from "../../lib/time.js";

const MOST_NAMED = 3;

export const silentFor = (worker) => wholeDuration(Math.max(0, nowMs() - ms(worker.heartbeat_at)));

export const isAlive = (worker) => worker.status === "ACTIVE" || worker.status === "DRAINING";

const upper = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

/** `holdUps`: those of GET /v1/overview without a worker. Messages of the API are shown as they are. */
export function fleetSentence(workers, holdUps) {
  const lost = workers.filter((each) => each.status === "LOST");
  const told = holdUps.map((each) => `${upper(each.message)}.`);
  if (lost.length === 1) told.push(`Worker ${lost[0].worker_id} is lost: no heartbeat for ${silentFor(lost[0])}.`);
  if (lost.length > 1) told.push(`${plural(lost.length, "worker")} are lost: ${listed([...lost.slice(0, MOST_NAMED).map((each) => each.worker_id), ...(lost.length > MOST_NAMED ? [`${count(lost.length - MOST_NAMED)} more`] : [])])}.`);
  if (told.length) return told.join(" ");
  const alive = workers.filter(isAlive);
  if (!alive.length) return workers.length ? "No worker is alive." : "Pull workers that may run your jobs.";
  const places = alive.reduce((sum, each) => sum + each.resources.concurrency, 0);
  const busy = alive.reduce((sum, each) => sum + each.running.length, 0);
  return `${alive.length === 1 ? "The one worker is alive" : `All ${count(alive.length)} workers are alive`}, ${count(busy)} of ${plural(places, "place")} in use.`;
}

/** What one worker does now, in a sentence. */
export function workerSentence(worker) {
  const runs = plural(worker.running.length, "run");
  if (worker.status === "LOST") return `Lost: no heartbeat for ${silentFor(worker)}. ${worker.running.length ? `It had ${runs}, which ${worker.running.length === 1 ? "goes" : "go"} to another worker.` : "It had no run."}`;
  if (worker.status === "STOPPED") return "It said that it ended. It takes no runs.";
  if (worker.status === "DRAINING") return `It finishes ${runs} and takes no more.`;
  return worker.running.length ? `It has ${runs} in ${plural(worker.resources.concurrency, "slot")}.` : `It is idle: ${plural(worker.resources.concurrency, "slot")} free.`;
}
