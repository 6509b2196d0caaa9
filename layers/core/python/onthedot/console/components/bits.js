// Small parts: times, buttons, cards, copy buttons.
import { cls, html, useId, useState } from "../lib/html.js";
import { announce } from "./toast.js";
import { Icon } from "./marks.js";
import { Said } from "./said.js";
import { Tabs } from "./tabs.js";

export { Ago, Time } from "./time.js";

/** A button. kind: "", "primary", "danger", "quiet"; icon: name of an icon; key: the key that does the same. */
export function Button({ kind = "", small, icon, hotkey, children, label, className, ...rest }) {
  const classes = cls("btn", kind, small && "small", icon && !children && "icon", className);
  return html`<button type="button" class=${classes} aria-label=${label} title=${label} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children}${hotkey && html`<kbd aria-hidden="true">${hotkey}</kbd>`}</button>`;
}

/** A link that looks like a button. */
export function ButtonLink({ href, kind = "", small, icon, hotkey, children, className }) {
  return html`<a class=${cls("btn", kind, small && "small", className)} href=${href}>${icon && html`<${Icon} name=${icon} />`}${children}${hotkey && html`<kbd aria-hidden="true">${hotkey}</kbd>`}</a>`;
}

/** A card: title, a hint beside it, something at the right end, and the body. `flush`: the body has no padding. */
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
    announce("The browser did not allow to copy.", { tone: "fail" });
  }
}

/** A button that copies a text. */
export const CopyButton = ({ text, label = "Copy", what, small = true, kind = "quiet" }) =>
  html`<${Button} kind=${kind} small=${small} icon="copy" onClick=${() => copyText(text, what)}>${label}<//>`;

const FORMS = [["cli", "CLI"], ["curl", "curl"], ["python", "Python"]];

/** An action as CLI, curl and Python. `forms` is what lib/copy_as.js returns. */
export function CopyAs({ forms, label = "The same as a command" }) {
  const [chosen, setChosen] = useState(FORMS[0][0]);
  const tabs = FORMS.map(([form, name]) => ({ id: form, label: name, panel: () => html`<pre class="code">${forms[form]}</pre>` }));
  return html`<div class="as"><${Tabs} label=${label} tabs=${tabs} chosen=${chosen} onChoose=${setChosen}
    right=${html`<${CopyButton} text=${forms[chosen]} what="Copied" />`} /></div>`;
}

/** The priority of a job. */
export const Priority = ({ value }) => html`<span class=${cls("prio", String(value).toLowerCase())}>${value}</span>`;

/** A choice among few: links with the chosen one marked. choices: [{href, label, current}]. */
export const Segments = ({ label, choices, small }) => html`<div class=${cls("seg", small && "small")} role="group" aria-label=${label}>
  ${choices.map((each) => html`<a href=${each.href} aria-current=${each.current ? "true" : null}>${each.label}</a>`)}</div>`;
