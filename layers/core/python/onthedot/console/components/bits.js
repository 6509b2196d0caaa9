// @ts-check
// Small parts: times, buttons, cards, copy buttons.
import { cls, html, useEffect, useId, useRef, useState } from "../lib/html.js";
import { describe, description, formsOf } from "../lib/copy_as.js";
import { Icon } from "./marks.js";
import { Said } from "./said.js";
import { announce } from "./toast.js";

export { Ago, Time } from "./said.js";

/** A button. kind: "", "primary", "danger", "quiet"; icon: name of an icon; key: the key that does the same. */
export function Button({ kind = "", small, icon, hotkey, children, label, className, ...rest }) {
  const classes = cls("btn", kind, small && "small", icon && !children && "icon", className);
  return html`<button type="button" class=${classes} aria-label=${label} title=${label} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children}${hotkey && html`<kbd aria-hidden="true">${hotkey}</kbd>`}</button>`;
}

/** A link that looks like a button. */
export function ButtonLink({ href, kind = "", small, icon, hotkey, children, className }) {
  return html`<a class=${cls("btn", kind, small && "small", className)} href=${href}>${icon && html`<${Icon} name=${icon} />`}${children}${hotkey && html`<kbd aria-hidden="true">${hotkey}</kbd>`}</a>`;
}

/** A card: title, a hint next to it, something at the right end, and the body. `flush`: the body has no padding. */
export function Card({ title, hint, right, flush, className, children, id }) {
  const own = useId();
  const heading = id ?? own;
  return html`<section class=${cls("card", flush && "flush", className)} aria-labelledby=${title ? heading : null}>
    ${title && html`<header><h2 id=${heading}>${title}</h2>${hint && html`<span class="hint">${hint}</span>`}${right && html`<span class="r">${right}</span>`}</header>`}
    <div class="body">${children}</div></section>`;
}

/** The head of a page: one h1, a sentence, and actions at the right end. */
export function Head({ title, before, lead, crumbs, className, children }) {
  return html`<div class=${cls("head", className)}><div>${crumbs && html`<nav class="crumbs" aria-label="Place">${crumbs}</nav>`}
    <div class="title">${before}<h1>${title}</h1></div>${lead && html`<p class="lead">${typeof lead === "string" ? html`<${Said} text=${lead} />` : lead}</p>`}</div>
    ${children && html`<div class="acts">${children}</div>`}</div>`;
}

/** Copy a text and say so. */
export async function copyText(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    announce(what);
  } catch {
    announce("The browser blocked copying.", { tone: "fail" });
  }
}

/** A button that copies a text. */
export const CopyButton = ({ text, label = "Copy", what, small = true, kind = "quiet" }) =>
  html`<${Button} kind=${kind} small=${small} icon="copy" onClick=${() => copyText(text, what)}>${label}<//>`;

/** Copy the command of a call; where the commands are not known, its curl form. */
export async function copyCommand(call) {
  const { cli, curl } = formsOf(call, description.value ?? (await describe()));
  await copyText(cli ?? curl, cli ? "Copied as CLI" : "Copied as curl");
}

const FORMS = [
  ["cli", "CLI"],
  ["curl", "curl"],
  ["python", "Python"],
];

/** An action as CLI, curl and Python. `calls`: one or several of lib/copy_as.js. */
export function CopyAs({ calls, label = "The same as a command" }) {
  const [chosen, setChosen] = useState(FORMS[0][0]);
  useEffect(() => void describe(), []);
  const forms = formsOf(calls, description.value);
  // Until the commands are read, their tabs are there, so that nothing moves.
  const shown = FORMS.filter(([form]) => forms[form] || description.value === undefined);
  const form = shown.some(([id]) => id === chosen) ? chosen : "curl";
  const tabs = shown.map(([id, name]) => ({
    id,
    label: name,
    panel: () => html`<pre class="code" aria-busy=${forms[id] ? null : "true"}>${forms[id] ?? "…"}</pre>`,
  }));
  return html`<div class="as"><${Tabs} label=${label} tabs=${tabs} chosen=${form} onChoose=${setChosen}
    right=${html`<${CopyButton} text=${forms[form] ?? ""} what="Copied" />`} /></div>`;
}

/** The priority of a job. */
export const Priority = ({ value }) => html`<span class=${cls("prio", String(value).toLowerCase())}>${value}</span>`;

/** A choice among few: links with the chosen one marked. choices: [{href, label, current}]. */
export const Segments = ({
  label,
  choices,
  small,
}) => html`<div class=${cls("seg", small && "small")} role="group" aria-label=${label}>
  ${choices.map((each) => html`<a href=${each.href} aria-current=${each.current ? "true" : null}>${each.label}</a>`)}</div>`;

// Tabs: arrow keys move between them, as in every tab list.

/** tabs: [{id, label, panel()}]; `chosen` is an id. `right`: what stands at the end of the row. */
function Tabs({ label, tabs, chosen, onChoose, right }) {
  const base = useId();
  const list = useRef(null);
  const index = Math.max(
    0,
    tabs.findIndex((tab) => tab.id === chosen),
  );
  const move = (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -index, End: tabs.length - 1 - index };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = (index + steps[event.key] + tabs.length) % tabs.length;
    onChoose(tabs[next].id);
    list.current.querySelectorAll("[role=tab]")[next].focus();
  };
  const current = tabs[index];
  if (!current) return null;
  return html`<div class="tabset"><div class="tabrow"><div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
    ${tabs.map(
      (
        tab,
      ) => html`<button type="button" role="tab" id=${`${base}-${tab.id}`} aria-selected=${String(tab === current)} aria-controls=${`${base}-panel`}
      tabindex=${tab === current ? 0 : -1} onClick=${() => onChoose(tab.id)}>${tab.label}</button>`,
    )}</div>${right}</div>
    <div role="tabpanel" id=${`${base}-panel`} aria-labelledby=${`${base}-${current.id}`} tabindex="0">${current.panel()}</div></div>`;
}
