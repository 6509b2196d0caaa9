// @ts-check
// A gate in words: its limits, its state, and why runs wait there.
import { count, plural } from "../../lib/format.js";
import { duration } from "../../lib/time.js";

/** "5 at a time, 10 a second, 20 in a burst after a quiet time", or "no limit". */
export function limitWords({ in_flight: inFlight, per_second: perSecond, burst }) {
  const parts = [];
  if (inFlight !== null) parts.push(`${count(inFlight)} at a time`);
  if (perSecond !== null) parts.push(`${perSecond} per second`);
  if (burst !== null && burst !== undefined) parts.push(`${count(burst)} in a burst after a quiet time`);
  return parts.join(", ") || "no limit";
}

/** "PAUSED", "STOPPED" (a limit is 0), "FULL", "WAITING" or "OPEN". */
function stateOf(gate) {
  if (gate.paused) return "PAUSED";
  if (gate.in_flight === 0 || gate.per_second === 0) return "STOPPED";
  if (gate.in_flight !== null && gate.in_use !== null && gate.in_use >= gate.in_flight) return "FULL";
  return gate.waiting ? "WAITING" : "OPEN";
}

const MARKS = {
  PAUSED: ["paused", "Paused"],
  STOPPED: ["paused", "Stopped"],
  FULL: ["waiting", "Full"],
  WAITING: ["waiting", "Runs wait"],
  OPEN: ["active", "Open"],
};

/** {status, text} for a pill. */
export const pillOf = (gate) => ({ status: MARKS[stateOf(gate)][0], text: MARKS[stateOf(gate)][1] });

export const waitingText = (gate) =>
  gate.waiting === null ? "–" : `${count(gate.waiting)}${gate.waiting_is_more ? "+" : ""}`;

export const ageText = (seconds) => (seconds === null ? "–" : duration(Math.round(seconds) * 1000));

/** {strong, text}: why runs wait at a gate, or that none does. */
export function whyOf(gate) {
  if (gate.waiting === null) return { strong: "Its usage is unavailable right now.", text: "Runs are not affected." };
  const runs = `${waitingText(gate)} ${gate.waiting === 1 ? "run waits" : "runs wait"}`;
  const oldest = gate.waiting ? ` The oldest was due ${ageText(gate.oldest_waiting_seconds)} ago.` : "";
  const state = stateOf(gate);
  if (state === "PAUSED")
    return {
      strong: gate.waiting ? `${runs}, because the gate is paused.` : "The gate is paused.",
      text: `Nothing starts here until you resume it.${oldest}`,
    };
  if (state === "STOPPED")
    return {
      strong: gate.waiting ? `${runs}, because a limit is 0.` : "A limit is 0: nothing starts.",
      text: `Raise the limit to let runs start.${oldest}`,
    };
  if (gate.waiting && state === "FULL")
    return {
      strong: `${runs}, because ${count(gate.in_use)} of ${plural(gate.in_flight, "place")} ${gate.in_flight === 1 ? "is" : "are"} taken.`,
      text: `The next run starts when one of the holders ends.${oldest}`,
    };
  if (gate.waiting)
    return {
      strong: `${runs} for a turn${gate.per_second ? `: ${gate.per_second} start each second` : ""}.`,
      text: oldest.trim(),
    };
  return {
    strong: gate.waiting_keys ? "Runs wait at keys of this gate." : "No runs are waiting here.",
    text: `${plural(gate.in_use, "attempt")} ${gate.in_use === 1 ? "holds" : "hold"} a place.`,
  };
}
