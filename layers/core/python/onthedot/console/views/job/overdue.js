// A fire that is due and was not taken: the scheduler takes it with its next tick.
import { html } from "../../lib/html.js";
import { ms, now, relative } from "../../lib/time.js";
import { Time } from "../../components/bits.js";

/** A fire is taken within moments, and the page hears of it some seconds later. */
const GRACE_MS = 10_000;

/** The time of the fire that waits for the scheduler, or null. */
export const overdueOf = (job) => ((job?.cron || job?.every) && job.status !== "PAUSED" && ms(job.next_fire_time) < now.value - GRACE_MS ? job.next_fire_time : null);

/** The time after which fires of a job come, in ms. */
export const comesAfter = (job) => (overdueOf(job) ? now.value : now.value - GRACE_MS);

export const WAITS = "waits for the scheduler";

export const Overdue = ({ at }) => at && html`<p class="pad"><b class="t-fail">Due ${relative(at, now.value)}</b>, at <${Time} at=${at} />: ${WAITS}.</p>`;
