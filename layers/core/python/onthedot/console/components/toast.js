// @ts-check
// Short messages: shown for some seconds, and told politely to screen readers.
import { html, signal } from "../lib/html.js";
import { Mark } from "./marks.js";
import { Said } from "./said.js";

const SHOWN_MS = 6000;
const messages = signal([]);
const told = signal("");
let serial = 0;

/** Show a message. tone: "ok" or "fail". A failure stays until it is closed. */
export function announce(text, { tone = "ok" } = {}) {
  const id = (serial += 1);
  messages.value = [...messages.value.slice(-3), { id, text, tone }];
  if (tone !== "fail") setTimeout(() => close(id), SHOWN_MS);
}

/** Tell screen readers only: a list that was filtered, a state that changed. */
export function tell(text) {
  told.value = text;
}

const close = (id) => (messages.value = messages.value.filter((each) => each.id !== id));

/** The place of the messages; the shell has it once. */
export function Toasts() {
  return html`<div class="vh" role="status" aria-live="polite">${told.value}</div>
    <div class="toasts" role="status" aria-live="polite">${messages.value.map(
      ({ id, text, tone }) => html`<div class="toast" key=${id}>
      <${Mark} status=${tone === "fail" ? "failed" : "succeeded"} /><span><${Said} text=${text} /></span>
      <button type="button" class="btn quiet small" onClick=${() => close(id)} aria-label="Close the message">×</button></div>`,
    )}</div>`;
}
