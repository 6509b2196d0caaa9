// Words about runs.
import { moment, ms } from "../../lib/time.js";

/** The first letter large. */
export const opened = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

/** The first letter large, a full stop at the end. */
export const sentence = (text) => { const whole = opened(text); return /[.!?]$/.test(whole) ? whole : `${whole}.`; };

/** "Sat 24 Oct 02:30:00.009": a time with its milliseconds. */
export const exact = (time) => (time ? `${moment(time)}.${String(((ms(time) % 1000) + 1000) % 1000).padStart(3, "0")}` : "–");

/** Whether an entry of a history is a range of skipped fire times. */
export const isRange = (run) => run.count !== undefined;
