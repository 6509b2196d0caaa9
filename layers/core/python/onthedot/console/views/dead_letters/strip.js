// Failures over the range, as crosses on a line: the larger, the more.
import { html } from "../../lib/html.js";
import { plural } from "../../lib/format.js";
import { moment, ms } from "../../lib/time.js";

const [WIDTH, END] = [172, 4];
const INSIDE = WIDTH - 2 * END;

/** over: counts of equal parts of the time. */
export function FailureStrip({ group, words }) {
  const over = group.over_time ?? [];
  const x = (part) => END + ((part + 0.5) / over.length) * INSIDE;
  const size = (runs) => Math.min(4.2, 2 + Math.log2(runs) * 0.5);
  const cross = (runs, part) => {
    const r = size(runs);
    return html`<path class="k-fail" d=${`M${x(part) - r} ${8 - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} />`;
  };
  return html`<svg class="day" viewBox=${`0 0 ${WIDTH} 16`} role="img" aria-label=${`${plural(group.count, "failure")} over the last ${words}, ${spanOf(group)}`}><path class="base" d=${`M0 8H${WIDTH}`} />
    ${[0, 1, 2, 3, 4].map((part) => html`<path class="tick" d=${`M${END + (part * INSIDE) / 4} 5.500v5`} />`)}${over.map((runs, part) => (runs ? cross(runs, part) : null))}</svg>`;
}

/** "13:52:15 to 14:09:14", or one time. */
export function spanOf({ oldest, latest }) {
  return ms(latest) - ms(oldest) < 1000 ? moment(latest) : `${moment(oldest)} to ${moment(latest)}`;
}
