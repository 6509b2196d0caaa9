// @ts-check
// Times as elements, and sentences of the API: as they are, with times in the reader's zone and commands as code.
import { html } from "../lib/html.js";
import { moment, now, relative, utc, utcText, zone } from "../lib/time.js";

const PARTS = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|`[^`]+`)/;
const isCode = (part) => part.startsWith("`");
const split = (text, show) =>
  String(text ?? "")
    .split(PARTS)
    .map((part, place) => (place % 2 ? show(part) : part));

/** A sentence. What stands between backticks is code. */
export const Said = ({ text }) =>
  split(text, (part) => (isCode(part) ? html`<code>${part.slice(1, -1)}</code>` : html`<${Time} at=${part} />`));

/** The same for a place that shows text only, such as a title. */
export const plainly = (text) => split(text, (part) => (isCode(part) ? part.slice(1, -1) : moment(part))).join("");

// Times as elements.

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
