// @ts-check
// What a change does: fires that move, vanish or appear in the coming week, then fields.
import { html } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { plural } from "../../lib/format.js";
import { clock, dayOf, moment, ms, now } from "../../lib/time.js";
import { cronWords, everyWords } from "../../lib/words.js";
import { Figure } from "../../charts/figure.js";
import { CopyAs } from "../../components/bits.js";
import { Loading } from "../../components/states.js";
import { scheduleOf, usePreview } from "../new/fires.js";

const WEEK_MS = 7 * 86_400_000;
const MOST = 200;

/**
 * Compare two lists of times in ms: {kept, moved: [[from, to]], gone, added}. What is left of each day is paired in
 * order: it moves. What has no partner vanishes or appears.
 */
function compare(before, after, dayOfTime) {
  const [old, next] = [new Set(before), new Set(after)];
  const kept = before.filter((time) => next.has(time));
  const [left, right] = [before.filter((time) => !next.has(time)), after.filter((time) => !old.has(time))];
  const byDay = Map.groupBy
    ? Map.groupBy(right, dayOfTime)
    : right.reduce(
        (found, time) => found.set(dayOfTime(time), [...(found.get(dayOfTime(time)) ?? []), time]),
        new Map(),
      );
  const [moved, gone] = [[], []];
  for (const time of left) {
    const partner = byDay.get(dayOfTime(time))?.shift();
    if (partner === undefined) gone.push(time);
    else moved.push([time, partner]);
  }
  return { kept, moved, gone, added: [...byDay.values()].flat() };
}

function told({ kept, moved, gone, added }, zone) {
  if (!moved.length && !gone.length && !added.length) return html`<b>No fires change in the coming week.</b>`;
  const sames = (times) => new Set(times.map((time) => clock(time, { zone }))).size === 1;
  const fromTo =
    moved.length && sames(moved.map(([from]) => from)) && sames(moved.map(([, to]) => to))
      ? ` from ${clock(moved[0][0], { zone, seconds: false })} to ${clock(moved[0][1], { zone, seconds: false })}`
      : "";
  const parts = [
    moved.length &&
      `${plural(moved.length, "fire")} in the coming week ${moved.length === 1 ? "moves" : "move"}${fromTo}`,
    gone.length &&
      `${gone.length}${moved.length ? "" : " in the coming week"} ${gone.length === 1 ? "is dropped" : "are dropped"}`,
    added.length &&
      `${added.length}${moved.length || gone.length ? "" : " in the coming week"} ${added.length === 1 ? "is added" : "are added"}`,
  ].filter(Boolean);
  return html`<b>${parts.join(", ")}</b>${kept.length ? `; ${plural(kept.length, "stays", "stay")} as ${kept.length === 1 ? "it is" : "they are"}.` : "."}`;
}

function Moves({ found, from, to, zone, label }) {
  return html`<${Figure} label=${label} height=${96} table=${{ head: ["Fire", "What"], rows: [...found.moved.map(([one, other]) => [moment(one, { zone }), `moves to ${moment(other, { zone })}`]), ...found.gone.map((time) => [moment(time, { zone }), "is dropped"]), ...found.added.map((time) => [moment(time, { zone }), "is added"])] }} draw=${(
    width,
  ) => {
    const x = (time) => 56 + ((time - from) / (to - from)) * (width - 66);
    const days = Array.from({ length: 8 }, (_, place) => from + (place * (to - from)) / 7);
    return html`${days.map(
      (time, place) =>
        html`<path class="gr" d=${`M${x(time)} 6V76`} />${
          place < 7 &&
          (width > 480 || place % 2 === 0) &&
          html`<text class="c" x=${x(time + (to - from) / 14)} y="92">${dayOf(time + (to - from) / 14, zone)
            .split(" ")
            .slice(0, 2)
            .join(" ")}</text>`
        }`,
    )}
      <path class="base" d=${`M56 22H${width - 8}`} /><path class="base" d=${`M56 56H${width - 8}`} /><text class="e" x="46" y="26">now</text><text class="e strong" x="46" y="60">new</text>
      ${found.kept.map((time) => html`<circle class="k-nexto" cx=${x(time)} cy="22" r="4" /><circle class="k-nexto" cx=${x(time)} cy="56" r="4" />`)}
      ${found.moved.map(([one, other]) => html`<path class="move" d=${`M${x(one)} 22L${x(other)} 56`} /><circle class="k-nexto" cx=${x(one)} cy="22" r="4" /><circle class="k-ok" cx=${x(other)} cy="56" r="4" />`)}
      ${found.gone.map((time) => html`<circle class="k-nexto" cx=${x(time)} cy="22" r="4" /><path class="k-fail thin" d=${`M${x(time) - 3} 53l6 6m0 -6l-6 6`} />`)}${found.added.map((time) => html`<circle class="k-ok" cx=${x(time)} cy="56" r="4" />`)}`;
  }} />`;
}

const SHOWN = { cron: cronWords, every: everyWords };
const text = (value) =>
  value === null || value === undefined ? "none" : typeof value === "string" ? value : JSON.stringify(value);

function Fields({ rows }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Fields that change"><table class="tbl diff"><caption class="vh">Fields that change</caption><thead><tr><th scope="col">Field</th><th scope="col">Now</th><th scope="col">New</th></tr></thead>
    <tbody>${rows.map(([name, old, value]) => html`<tr><th scope="row">${name}</th><td class="old said"><code>${text(old)}</code>${SHOWN[name] && old && html`<span class="sub">${SHOWN[name](old)}</span>`}</td><td class="new said"><code>${text(value)}</code>${SHOWN[name] && value && html`<span class="sub">${SHOWN[name](value)}</span>`}</td></tr>`)}</tbody></table></div>`;
}

/** `after`: the schedule of the form, or null when the job does not recur. */
export function Review({ job, after, body, rows }) {
  const before = job.cron || job.every ? scheduleOf(job) : null;
  const moves =
    before &&
    after &&
    JSON.stringify(before) !== JSON.stringify(after) &&
    Object.keys(body).some((name) =>
      ["cron", "every", "timezone", "dst", "start_at", "end_at", "jitter_seconds"].includes(name),
    );
  const [old, next] = [
    usePreview(moves ? before : null, { count: MOST, wait: 0 }),
    usePreview(moves ? after : null, { count: MOST, wait: 0 }),
  ];
  const zone = after?.timezone ?? job.timezone ?? "UTC";
  const error = next.error ?? (old.error?.status === 422 ? null : old.error); // a schedule that has ended is refused: it has no fires
  const ready = moves && !old.loading && !next.loading && !error;
  let chart = null;
  if (ready) {
    // The API lists a bounded number of fires: the comparison ends where the shorter list does.
    const from = now.peek();
    const ends = [old, next].map(({ fires }) => (fires.length === MOST ? ms(fires.at(-1).time) : Infinity));
    const to = Math.min(from + WEEK_MS, ...ends);
    const within = ({ fires }) => fires.map((fire) => ms(fire.time)).filter((time) => time <= to);
    const found = compare(within(old), within(next), (time) => dayOf(time, zone));
    chart = html`<p class="say">${told(found, zone)}</p>${to < from + WEEK_MS && html`<p class="faint">Compared until ${moment(to)}; later fires are not listed.</p>`}<${Moves} found=${found} from=${from} to=${to} zone=${zone} label=${`Fires until ${moment(to)}: ${found.moved.length} moved, ${found.gone.length} dropped, ${found.added.length} added, ${found.kept.length} unchanged.`} />`;
  }
  return html`${moves ? (error ? html`<p class="t-fail">${error.message}</p>` : (chart ?? html`<${Loading} rows=${2} label="Loading the fires" />`)) : html`<p class="say">${before ? html`<b>No fires move:</b> the schedule stays as it is.` : html`<b>${plural(rows.length, "field changes", "fields change")}.</b>`}</p>`}
    <${Fields} rows=${rows} /><${CopyAs} calls=${COPY.change(job.job_id, body, job.version)} />`;
}
