// @ts-check
// Which minutes hold too many runs, and what jitter would do to one of them. Nothing here draws.
const TIMES_USUAL = 2;
const LEAST_HERD = 20;
const LEAST_BUSY = 60;
const FRACTIONS = [1 / 4, 1 / 2, 3 / 4, 1];

/**
 * {value, isLimit, perSecond, usual}: runs above `value` in one minute are a herd. With a limit of the tenant it is the limit;
 * else twice what a minute with runs usually holds, and at least 20. Few such minutes make nothing usual: then `usual` is 0.
 */
export function thresholdOf(minutes, perSecond) {
  const busy = minutes
    .map((each) => each.runs)
    .filter(Boolean)
    .sort((one, other) => one - other);
  const usual = busy.length < LEAST_BUSY ? 0 : busy[Math.floor(busy.length / 2)];
  if (perSecond > 0) return { value: perSecond * 60, isLimit: true, perSecond, usual };
  return { value: Math.max(LEAST_HERD, usual * TIMES_USUAL), isLimit: false, perSecond: null, usual };
}

/** The minutes above the threshold, the largest first. */
export const herdsOf = (minutes, threshold) =>
  minutes.filter((each) => each.runs > threshold.value).sort((one, other) => other.runs - one.runs);

/** The most runs of the colours 1 to 4. Colour 0 is a minute without runs, colour 5 a herd. */
export const boundsOf = (threshold) =>
  FRACTIONS.map((part, place) => Math.max(place + 1, Math.round(threshold.value * part)));

export const levelOf = (runs, bounds, threshold) =>
  runs === 0
    ? 0
    : runs > threshold.value
      ? 5
      : 1 +
        Math.max(
          0,
          bounds.findIndex((bound) => runs <= bound),
        );

/**
 * The minutes around one, if its runs started with a jitter of this many seconds: [{time, runs, was}]. Each run gets an offset of
 * its own between 0 and the jitter, so a minute gets the part of the jitter that lies in it.
 */
export function withJitter(minutes, index, seconds, { before = 2, after = 16 } = {}) {
  const herd = minutes[index].runs;
  const share = (place) => {
    if (seconds <= 0) return place === 0 ? 1 : 0;
    const [from, to] = [Math.max(0, place * 60), Math.min(seconds, (place + 1) * 60)];
    return place < 0 || to <= from ? 0 : (to - from) / seconds;
  };
  const window = minutes.slice(Math.max(0, index - before), index + after + 1);
  return window.map((each, place) => {
    const distance = place - Math.min(before, index);
    return { time: each.time, was: each.runs, runs: (distance === 0 ? 0 : each.runs) + herd * share(distance) };
  });
}
