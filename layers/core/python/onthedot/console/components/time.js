// Times as elements.
import { html } from "../lib/html.js";
import { moment, now, relative, utc, utcText, zone } from "../lib/time.js";

/** A time in the reader's zone, UTC on hover. */
export function Time({ at, seconds = true, className }) {
  if (!at) return html`<span class=${className}>–</span>`;
  void utc.value;
  return html`<time class=${className} datetime=${at} title=${utcText(at)}>${moment(at, { seconds, zone: zone.value })}</time>`;
}

/** "in 11 h 57 min" or "8 min ago", live; the exact time and UTC on hover. */
export function Ago({ at, className }) {
  if (!at) return html`<span class=${className}>–</span>`;
  return html`<time class=${className} datetime=${at} title=${`${moment(at)} · ${utcText(at)}`}>${relative(at, now.value)}</time>`;
}
