// Whether the next fire of a job is in a herd minute. The same counts as in the view Schedule say so.
import { html } from "../../lib/html.js";
import { plural } from "../../lib/format.js";
import { usePoll } from "../../lib/poll.js";
import { href } from "../../lib/router.js";
import { overview } from "../../lib/session.js";
import { moment, ms, nowMs } from "../../lib/time.js";
import { thresholdOf } from "../schedule/herds.js";

const MINUTE = 60_000;
const MOST_MINUTES = 1440;

/** The minute of the next fire: {time, runs}, when it holds more than the threshold of the Schedule; else null. The coming hour is in the overview; a later minute takes one request. */
export function useHerd(job) {
  const start = job?.cron && job.status !== "PAUSED" && job.next_fire_time ? Math.floor(ms(job.next_fire_time) / MINUTE) * MINUTE : null;
  const ahead = start === null ? -1 : Math.floor((start - nowMs()) / MINUTE) + 2;
  const near = overview.value?.due;
  const isFar = near && start > ms(near.at(-1)?.time) && ahead <= MOST_MINUTES;
  const far = usePoll(isFar ? "forecast" : null, () => ({ minutes: Math.max(1, Math.floor((start - nowMs()) / MINUTE) + 2) }), { every: 0, key: `herd ${start}` });
  const minutes = (isFar ? far.data?.minutes : near) ?? [];
  const here = minutes.find((each) => ms(each.time) === start);
  return here && here.runs > thresholdOf(minutes, overview.value?.limits?.per_second).value ? here : null;
}

export const Herd = ({ minute }) => minute && html`<p class="fine herd-note"><b class="t-retry">A herd:</b> ${plural(minute.runs, "run")} are due in the minute of the next fire. <a class="link" href=${href("/schedule", { at: minute.time })}>Schedule at ${moment(minute.time, { seconds: false })}</a></p>`;
