// Sentences of the API: as they are, with times in the reader's zone and commands as code.
import { html } from "../lib/html.js";
import { moment } from "../lib/time.js";
import { Time } from "./time.js";

const PARTS = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|`[^`]+`)/;
const isCode = (part) => part.startsWith("`");
const split = (text, show) => String(text ?? "").split(PARTS).map((part, place) => (place % 2 ? show(part) : part));

/** A sentence. What stands between backticks is code. */
export const Said = ({ text }) => split(text, (part) => (isCode(part) ? html`<code>${part.slice(1, -1)}</code>` : html`<${Time} at=${part} />`));

/** The same for a place that shows text only, such as a title. */
export const plainly = (text) => split(text, (part) => (isCode(part) ? part.slice(1, -1) : moment(part))).join("");
