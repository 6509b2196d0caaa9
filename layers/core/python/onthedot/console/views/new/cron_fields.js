// The five fields of a cron expression, each with its meaning.
import { html } from "../../lib/html.js";

const PARTS = ["minute", "hour", "day", "month", "weekday"];
const DAYS = { sun: "Sun", mon: "Mon", tue: "Tue", wed: "Wed", thu: "Thu", fri: "Fri", sat: "Sat" };
const NUMBERED = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** One field in words, or "" when it is not simple. */
function words(text, place) {
  const name = (each) => (place === 4 ? DAYS[each.toLowerCase()] ?? NUMBERED[Number(each)] ?? each : each);
  if (text === "*" || text === "?") return "any";
  const step = /^\*\/(\d+)$/.exec(text);
  if (step) return `every ${step[1]}`;
  const range = /^(\w+)-(\w+)$/.exec(text);
  if (range) return `${name(range[1])} to ${name(range[2])}`;
  if (/^[\w]+(,\w+)+$/.test(text)) return text.split(",").map(name).join(", ");
  if (text.toLowerCase() === "l" && place === 2) return "the last";
  return /^\w+$/.test(text) ? name(text) : "";
}

/** Nothing is shown for an alias or an expression of EventBridge: the preview has its words. */
export function CronFields({ expression }) {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5 || parts[0].startsWith("@") || parts[0].startsWith("cron(")) return null;
  return html`<div class="cronf">${parts.map((part, place) => html`<div><b class="cut">${part}</b><span>${PARTS[place]}</span><em>${words(part, place)}</em></div>`)}</div>`;
}
