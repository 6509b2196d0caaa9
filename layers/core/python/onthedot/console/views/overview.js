// The view *Overview*: on the dot or not, why, and what comes.
import { html } from "../lib/html.js";
import { hasOverview, overview } from "../lib/session.js";
import { live, tickAge } from "../shell/shell.js";
import { Segments } from "../components/bits.js";
import { Said } from "../components/said.js";
import { Failed, Loading, Stale } from "../components/states.js";
import { usePoll } from "../lib/poll.js";
import { href } from "../lib/router.js";
import { clock, wholeDuration } from "../lib/time.js";
import { Coming, Lateness, Queues, Throughput } from "./overview/cards.js";
import { Causes } from "./overview/causes.js";
import { Figures } from "./overview/figures.js";
import { First } from "./overview/first.js";
import { RANGES, useRange } from "./overview/range.js";
import { verdict } from "./overview/verdict.js";

export const title = () => "Overview";

export default function View({ route }) {
  const data = overview.value;
  const range = RANGES.find((each) => each.id === route.query.range) ?? RANGES[1];
  const figures = useRange(range, data);
  const poll = live.value;
  const quiet = Boolean(data) && isQuiet(data);
  const jobs = usePoll(quiet ? "jobs" : null, { limit: 1 }, { every: 10_000 });
  if (!data && hasOverview.value === false) return html`<h1>Overview</h1><p class="lead">This API has no overview. The other pages work.</p>`;
  if (!data) return html`<h1 class="vh">Overview</h1>${poll.error ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />` : html`<${Loading} rows=${8} />`}`;
  if (quiet && jobs.data?.jobs.length === 0 && !jobs.data.next_cursor) return html`<${First} data=${data} />`;
  return html`<${Stale} poll=${poll} /><div class=${poll.stale ? "stale" : ""}>
    <${Heading} data=${data} figures=${figures} range=${range} poll=${poll} /><${Figures} data=${data} figures=${figures} range=${range} />
    <div class="stack home"><div class="grid cols-7-5"><${Throughput} figures=${figures} range=${range} /><${Lateness} figures=${figures} /></div>
      <${Queues} queues=${data.queues} />
      <div class="grid cols-7-5"><${Coming} data=${data} /><${Causes} data=${data} /></div></div></div>`;
}

/** Nothing ran, and nothing is due soon. When there is no job either, the reader is here for the first time. */
const isQuiet = ({ hour, due, next, causes, hold_ups: holdUps, failures }) =>
  hour && due && !(hour.succeeded + hour.failed + hour.skipped + hour.cancelled) && !due.some((each) => each.runs) && !next?.length && !causes?.length && !holdUps?.length && !failures?.length;

function Heading({ data, figures, range, poll }) {
  const age = tickAge();
  const late = data.status === "late";
  const found = verdict(data, figures, range);
  const text = poll.stale ? `Not heard from since ${clock(poll.at)}` : late ? (age === null ? "No tick yet" : `No tick for ${wholeDuration(age * 1000)}`) : found.title;
  const lead = poll.stale ? "The console keeps the last figures it has. Runs go on without it: the console is not on their path." : late ? data.summary?.message : found.message;
  return html`<div class="head"><div><div class="title"><${OnOff} mark=${late || poll.stale ? "bad" : found.mark} /><h1><span class="vh">Overview: </span>${text}</h1></div>${lead && html`<p class="lead"><${Said} text=${lead} /></p>`}</div>
    <div class="acts"><span class=${poll.stale ? "live off" : "live"}>${poll.stale ? "Not live" : "Live, every 5 s"}</span>
      <${Segments} label="Range" choices=${RANGES.map((each) => ({ href: href("/", { range: each.id }), label: each.label, current: each === range }))} /></div></div>`;
}

/** A dot on its tick, behind it, or hollow when no run was made. */
function OnOff({ mark }) {
  const [x, kind] = { good: [9, "k-ok"], bad: [27, "k-failf"], none: [9, "k-skip"] }[mark];
  return html`<svg class="onoff" viewBox="0 0 34 18" aria-hidden="true"><path class="base" d="M0 9h34" /><circle class="halo-bg" cx=${x} cy="9" r="6.500" />
    ${mark === "bad" && html`<path class="stem fail" d="M9 9H27" />`}<path class="tick" d="M9 0v18" /><circle class=${kind} cx=${x} cy="9" r="5" /></svg>`;
}
