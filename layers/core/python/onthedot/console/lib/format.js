// @ts-check
// Figures and words.

/** @type {[number, string][]} */
const SIZES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
/** @type {[string, number][]} */
const BYTES = [
  ["GB", 2 ** 30],
  ["MB", 2 ** 20],
  ["KB", 2 ** 10],
];
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 12322 → "12,322"; null → "–". */
export const count = (value) => (Number.isFinite(value) ? WHOLE.format(value) : "–");

/** 3100 → "3.1k", 1200000 → "1.2M". */
export function compact(value) {
  if (!Number.isFinite(value)) return "–";
  for (const [size, name] of SIZES) {
    if (value >= size) return `${trim((value / size).toFixed(value < 10 * size ? 1 : 0))}${name}`;
  }
  return WHOLE.format(value);
}

/** A rate with two or three figures: 3.42 → "3.4", 0.034 → "0.03", 142.2 → "142". */
export function rate(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  return value >= 100 ? WHOLE.format(value) : trim(value.toFixed(value >= 10 ? 1 : value >= 1 ? 1 : 2));
}

/** 0.99754 → "99.75". 100 only when it is all of them. */
export function percent(part) {
  if (!Number.isFinite(part)) return "–";
  if (part === 1 || part === 0) return String(part * 100);
  return trim(Math.min(99.99, Math.max(0.01, part * 100)).toFixed(2));
}

const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** plural(1, "run") → "1 run"; plural(2, "run") → "2 runs"; an irregular plural is the third argument. */
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** 1536 → "1.5 KB". */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const found = BYTES.find(([, size]) => value >= size);
  return found ? `${trim((value / found[1]).toFixed(1))} ${found[0]}` : `${value} B`;
}

/** "RUNNING" → "Running". The words of states are the API's. */
export const word = (status) =>
  status ? status[0].toUpperCase() + status.slice(1).toLowerCase().replaceAll("_", " ") : "–";

/** The start of a long id: "job_c2dkw7…". */
export const shortId = (id, length = 10) => (id && id.length > length + 1 ? `${id.slice(0, length)}…` : (id ?? ""));
