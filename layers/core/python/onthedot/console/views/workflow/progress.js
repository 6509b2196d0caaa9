// The progress of a workflow as one bar: a part for each state.
import { html } from "../../lib/html.js";
import { count } from "../../lib/format.js";

const PARTS = [["SUCCEEDED", "bar-ok"], ["SKIPPED", "bar-next"], ["CANCELLED", "bar-next"], ["DELETED", "bar-next"], ["FAILED", "bar-fail"], ["RUNNING", "bar-run"], ["DISPATCHED", "bar-run"], ["RETRYING", "bar-late"], ["PAUSED", "bar-hold"]];
const WIDTH = 240;

export function Progress({ progress, className = "prog" }) {
  let x = 0;
  const parts = PARTS.map(([status, tone]) => {
    const width = (WIDTH * (progress.by_status[status] ?? 0)) / Math.max(1, progress.total);
    x += width;
    return { status, tone, x: x - width, width };
  }).filter((part) => part.width);
  return html`<svg class=${className} viewBox=${`0 0 ${WIDTH} 6`} preserveAspectRatio="none" role="img" aria-label=${`${count(progress.ended)} of ${count(progress.total)} jobs ended`}><rect class="bar-soft" width=${WIDTH} height="6" />
    ${parts.map((part) => html`<rect key=${part.status} class=${part.tone} x=${part.x} width=${Math.max(1, part.width - 1.5)} height="6" />`)}</svg>`;
}
