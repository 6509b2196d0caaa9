// @ts-check
// Marks of states and icons. Each state has its own shape, so colour is never alone.
import { cls, html } from "../lib/html.js";
import { word } from "../lib/format.js";

const MARKS = {
  succeeded: html`<circle cx="6" cy="6" r="4" />`,
  active: html`<path d="M0 5.4h12v1.2H0z" /><circle cx="6" cy="6" r="3.4" />`,
  running: html`<path fill-rule="evenodd" d="M6 .8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 6 .8Zm0 1.5a3.7 3.7 0 1 0 0 7.4 3.7 3.7 0 0 0 0-7.4Z" /><circle cx="6" cy="6" r="2.1" />`,
  dispatched: html`<path fill-rule="evenodd" d="M6 1.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6Zm0 1.5v6.6a3.3 3.3 0 1 0 0-6.6Z" />`,
  pending: html`<circle cx="6" cy="6" r="2.4" />`,
  retrying: html`<path d="M6 1.2A4.8 4.8 0 1 0 10.8 6H9.3A3.3 3.3 0 1 1 6 2.7V1.2Z" /><path d="M5.6 0 9 2 5.6 4z" />`,
  failed: html`<path d="M3.1 1.7 6 4.6l2.9-2.9 1.4 1.4L7.4 6l2.9 2.9-1.4 1.4L6 7.4l-2.9 2.9-1.4-1.4L4.6 6 1.7 3.1z" />`,
  cancelled: html`<path fill-rule="evenodd" d="M6 1.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6Zm0 1.4a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.8Z" /><path d="m2.6 8.4 5.8-5.8 1 1-5.8 5.8z" />`,
  skipped: html`<path fill-rule="evenodd" d="M6 1.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6Zm0 1.4a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.800Z" /><path d="M2 5.300h8v1.400H2z" />`,
  completed: html`<path d="M0 5.200h8.400V2h1.800v8H8.400V6.800H0z" />`,
  waiting: html`<path d="M5.3 1.1h1.4v2H5.3zM5.3 8.9h1.4v2H5.3zM1.1 5.3h2v1.4h-2zM8.9 5.3h2v1.4h-2zM2.1 3.1l1-1 1.4 1.4-1 1zM7.5 8.5l1-1 1.4 1.4-1 1zM2.1 8.9l1.4-1.4 1 1-1.4 1.4zM7.5 3.5l1.4-1.4 1 1-1.4 1.4z" />`,
  paused: html`<path d="M2.8 2h2.2v8H2.8zM7 2h2.2v8H7z" />`,
};

/** Class of the pill and class of the mark of each state. */
const TONES = {
  succeeded: ["q", "c-ok"],
  active: ["q", "c-ok"],
  pending: ["q", "c-idle"],
  dispatched: ["s-run", "c-run"],
  running: ["s-run", "c-run"],
  retrying: ["s-retry", "c-retry"],
  failed: ["s-fail", "c-fail"],
  waiting: ["s-hold", "c-hold"],
  paused: ["s-hold", "c-hold"],
  completed: ["q", "c-idle"],
  skipped: ["s-none", "c-skip"],
  cancelled: ["s-none", "c-skip"],
  deleted: ["s-none", "c-skip"],
};

const key = (status) => String(status ?? "pending").toLowerCase();

/** "c-ok", "c-fail" …: the class that colours a mark of this state. */
export const toneOf = (status) => TONES[key(status)]?.[1] ?? "c-idle";

/** The shape of a state, 12 × 12. It is hidden from screen readers unless it has a `label`. */
export function Mark({ status, tone, label, className }) {
  const name = MARKS[key(status)] ? key(status) : key(status) === "deleted" ? "cancelled" : "pending";
  const told = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return html`<svg class=${cls("m", `m-${name}`, tone ?? toneOf(status), className)} viewBox="0 0 12 12" ...${told}>${MARKS[name]}</svg>`;
}

/** A state with its word. */
export function Pill({ status, text }) {
  return html`<span class=${cls("pill", TONES[key(status)]?.[0] ?? "q")}><${Mark} status=${status} tone="" />${text ?? word(status)}</span>`;
}

const ICONS = {
  overview: html`<path d="M1.5 8h13" /><circle cx="10" cy="8" r="2.6" fill="currentColor" stroke="none" />`,
  jobs: html`<path d="M6 4h8M6 8h8M6 12h8" /><path d="M2.5 4h.01M2.5 8h.01M2.5 12h.01" stroke-width="2.4" />`,
  flow: html`<circle cx="3.5" cy="4" r="1.8" /><circle cx="3.5" cy="12" r="1.8" /><circle cx="12.5" cy="8" r="1.8" /><path d="M5.3 4.4c3 .4 2.4 3.2 5.4 3.5M5.3 11.6c3-.4 2.4-3.2 5.4-3.5" />`,
  cal: html`<path d="M2 3.5h12v10H2zM2 6.5h12M5 2v2.5M11 2v2.5" /><path d="M8 10.2h.01" stroke-width="2.6" />`,
  dead: html`<path d="M2 9.5 4 3h8l2 6.5v3.5H2z" /><path d="M2 9.5h3.5c0 1.4 1 2.2 2.5 2.2s2.5-.8 2.5-2.2H14" />`,
  workers: html`<rect x="3" y="3" width="10" height="10" rx="1.5" /><path d="M6 6h4v4H6zM6 1v2M10 1v2M6 13v2M10 13v2M1 6h2M1 10h2M13 6h2M13 10h2" />`,
  queues: html`<path d="M1.5 4h13M1.5 8h13M1.5 12h13" /><path d="M11 4h.01M7 8h.01M4 12h.01" stroke-width="3.4" />`,
  gates: html`<path d="M2.5 2.5v11M13.5 2.500v11M2.500 8h11M6 5.500v5M10 5.500v5" />`,
  search: html`<circle cx="7" cy="7" r="4.2" /><path d="m10.2 10.2 3.3 3.3" />`,
  plus: html`<path d="M8 3v10M3 8h10" />`,
  play: html`<path d="M5 3.2v9.6L12.6 8z" />`,
  pause: html`<path d="M5.5 3.5v9M10.5 3.5v9" />`,
  edit: html`<path d="M3 13l.7-3L10.8 2.9l2.3 2.3L6 12.3z" />`,
  x: html`<path d="m4 4 8 8M12 4l-8 8" />`,
  copy: html`<rect x="5.5" y="5.5" width="8" height="8" rx="1.2" /><path d="M10.5 5.5v-3h-8v8h3" />`,
  down: html`<path d="m4 6.2 4 4 4-4" />`,
  right: html`<path d="m6.2 4 4 4-4 4" />`,
  left: html`<path d="m9.800 4-4 4 4 4" />`,
  more: html`<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.2" />`,
  redo: html`<path d="M3 8a5 5 0 1 0 1.6-3.7L3 5.8" /><path d="M3 2.6v3.2h3.2" />`,
  link: html`<path d="M6.8 9.2 9.6 6.4M7 4.6l1.3-1.3a2.6 2.6 0 0 1 3.7 3.7L10.8 8.3M9 11.4l-1.3 1.3a2.6 2.6 0 0 1-3.7-3.7L5.2 7.7" />`,
  key: html`<circle cx="5" cy="8" r="2.7" /><path d="M7.7 8h6.3v2.3M11.3 8v1.8" />`,
  warn: html`<path d="M8 2.3 14.2 13H1.800zM8 6.300v3.200" /><path d="M8 11.300h.01" stroke-width="1.800" />`,
  clock: html`<circle cx="8" cy="8" r="5.7" /><path d="M8 4.8V8l2.2 1.5" />`,
  menu: html`<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />`,
  term: html`<path d="M2 3h12v10H2zM4.5 6l2 2-2 2M8 10.3h3.2" />`,
  table: html`<path d="M2 3h12v10H2zM2 6.500h12M6.500 3v10" />`,
  theme: html`<circle cx="8" cy="8" r="5.500" /><path d="M8 2.500v11a5.500 5.500 0 0 0 0-11z" fill="currentColor" stroke="none" />`,
};

/** An icon, 16 × 16, hidden from screen readers: the control next to it has the name. */
export const Icon = ({ name, className }) =>
  html`<svg class=${cls("i", className)} viewBox="0 0 16 16" aria-hidden="true">${ICONS[name]}</svg>`;
