// @ts-check
// The view *Overview*: on the dot or not, why, and what comes.
import { html } from "../lib/html.js";
import { COPY } from "../lib/copy_as.js";
import { count, plural } from "../lib/format.js";
import { usePoll } from "../lib/poll.js";
import { href } from "../lib/router.js";
import { Acts, hasOverview, overview } from "../lib/session.js";
import { clock, wholeDuration } from "../lib/time.js";
import { Figure } from "../charts/figure.js";
import { ButtonLink, CopyAs, Segments } from "../components/bits.js";
import { Said } from "../components/said.js";
import { Failed, Loading, Stale } from "../components/states.js";
import { live, tickAge } from "../shell/shell.js";
import { Causes, Coming, Figures, Lateness, Queues, Throughput } from "./overview/cards.js";
import { RANGES, useRange } from "./overview/range.js";

export const title = () => "Overview";

export default function View({ route }) {
  const data = overview.value;
  const range = RANGES.find((each) => each.id === route.query.range) ?? RANGES[1];
  const figures = useRange(range, data);
  const poll = live.value;
  const quiet = Boolean(data) && isQuiet(data);
  const jobs = usePoll(quiet ? "jobs" : null, { limit: 1 }, { every: 10_000 });
  if (!data && hasOverview.value === false)
    return html`<h1>Overview</h1><p class="lead">This API has no overview. The other pages work.</p>`;
  if (!data)
    return html`<h1 class="vh">Overview</h1>${poll.error ? html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />` : html`<${Loading} rows=${8} />`}`;
  if (quiet && jobs.data?.jobs.length === 0 && !jobs.data.next_cursor) return html`<${First} data=${data} />`;
  return html`<${Stale} poll=${poll} /><div class=${poll.stale ? "stale" : ""}>
    <${Heading} data=${data} figures=${figures} range=${range} poll=${poll} /><${Figures} data=${data} figures=${figures} range=${range} />
    <div class="stack home"><div class="grid cols-7-5"><${Throughput} figures=${figures} range=${range} /><${Lateness} figures=${figures} /></div>
      <${Queues} queues=${data.queues} />
      <div class="grid cols-7-5"><${Coming} data=${data} /><${Causes} data=${data} /></div></div></div>`;
}

/** Nothing ran, and nothing is due soon. When there is no job either, the reader is here for the first time. */
const isQuiet = ({ hour, due, next, causes, hold_ups: holdUps, failures }) =>
  hour &&
  due &&
  !(hour.succeeded + hour.failed + hour.skipped + hour.cancelled) &&
  !due.some((each) => each.runs) &&
  !next?.length &&
  !causes?.length &&
  !holdUps?.length &&
  !failures?.length;

function Heading({ data, figures, range, poll }) {
  const age = tickAge();
  const late = data.status === "late";
  const found = verdict(data, figures, range);
  const text = poll.stale
    ? `No contact since ${clock(poll.at)}`
    : late
      ? age === null
        ? "No tick yet"
        : `No tick for ${wholeDuration(age * 1000)}`
      : found.title;
  const lead = poll.stale
    ? "These are the last figures the console received. Runs do not depend on it."
    : late
      ? data.summary?.message
      : found.message;
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

// Nothing is scheduled yet: what to do first.

const FIRST = { name: "first-dot", delay: 5, callback_url: "https://example.com/hook" };
const STEPS = [
  ["A time", "At 09:00 in Berlin, in 10 minutes, every 30 seconds, or by cron."],
  ["A target", "A URL, a Lambda function, any AWS call, gRPC, a program or a Python function."],
  ["A record", "Each expected run ends in one outcome, with its reason and its lateness."],
];

function First({ data }) {
  const age = tickAge();
  return html`<div class="blank"><${Figure} label="An empty time line" height=${40} draw=${(
    width,
  ) => html`<path class="base dash" d=${`M0 20H${width}`} />
      ${Array.from({ length: Math.floor(width / 52) }, (_, place) => html`<path class="tick" d=${`M${8 + place * 52} 15v10`} />`)}<path class="now" d=${`M${width / 3} 4V36`} /><circle class="halo-bg" cx=${width * 0.58} cy="20" r="11" /><circle class="k-wait" cx=${width * 0.58} cy="20" r="7" />`} />
    <h1>Nothing is scheduled yet</h1><p class="lead">One command puts the first dot on the line. It appears here by itself.</p>
    <div class="card first"><div class="body"><${CopyAs} calls=${COPY.create(FIRST)} label="The first job as a command" /></div></div>
    <${Acts}><div class="blank-acts"><${ButtonLink} kind="primary" href="#/new" icon="plus" hotkey="N">New job<//></div><//>
    <ul class="next3">${STEPS.map(([name, text]) => html`<li><b>${name}</b><span>${text}</span></li>`)}</ul>
    <p class="faint listen"><span class="live">Engine ${data.engine} ${data.version} is up${age === null ? "" : `, last tick ${wholeDuration(age * 1000)} ago`}</span></p></div>`;
}

// How the runs are, in few words. What holds runs up is of now; all else is of the range that the reader chose.

const TITLES = {
  on_time: "On the dot",
  late: "Late",
  failing: "Runs are failing",
  held_up: "Runs are held up",
  idle: "Nothing is running",
  skipped: "All runs were skipped",
  none_made: "Nothing ran",
};
/** The same bounds as the summary of the API has for the last hour. */
const LATE_MS = 5000;
const FAILING_SHARE = 0.05;

function stateOf({ succeeded, failed, skipped, ended }, lateness) {
  if (failed && failed >= FAILING_SHARE * (succeeded + failed)) return "failing";
  if (lateness?.p99_ms > LATE_MS) return "late";
  if (!ended) return "idle";
  if (succeeded) return "on_time";
  return skipped === ended ? "skipped" : "none_made";
}

function sentence(total, range) {
  if (!total.ended) return `No run ended in the last ${range.words}.`;
  const others = ["failed", "skipped", "cancelled"]
    .filter((name) => total[name])
    .map((name) => `${count(total[name])} ${name}`);
  return `${[`${plural(total.ended, "run")} in the last ${range.words}`, ...others].join(", ")}.`;
}

/** {title, message, mark}: `figures` of the range, null while they are not known. mark: "good", "bad", or "none" when no run was made. */
function verdict({ summary }, figures, range) {
  const isOfNow = !figures?.total || summary?.state === "held_up";
  const state = isOfNow ? summary?.state : stateOf(figures.total, figures.lateness);
  const message = isOfNow || range.id === "1h" ? summary?.message : sentence(figures.total, range);
  const mark = ["skipped", "none_made"].includes(state)
    ? "none"
    : ["on_time", "idle", undefined].includes(state)
      ? "good"
      : "bad";
  return { title: TITLES[state] ?? "Overview", message, mark };
}
