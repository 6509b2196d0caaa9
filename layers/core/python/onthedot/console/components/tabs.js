// Tabs: arrow keys move between them, as in every tab list.
import { html, useId, useRef } from "../lib/html.js";

/** tabs: [{id, label, panel()}]; `chosen` is an id. `right`: what stands at the end of the row. */
export function Tabs({ label, tabs, chosen, onChoose, right }) {
  const base = useId();
  const list = useRef(null);
  const index = Math.max(0, tabs.findIndex((tab) => tab.id === chosen));
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
    ${tabs.map((tab) => html`<button type="button" role="tab" id=${`${base}-${tab.id}`} aria-selected=${String(tab === current)} aria-controls=${`${base}-panel`}
      tabindex=${tab === current ? 0 : -1} onClick=${() => onChoose(tab.id)}>${tab.label}</button>`)}</div>${right}</div>
    <div role="tabpanel" id=${`${base}-panel`} aria-labelledby=${`${base}-${current.id}`} tabindex="0">${current.panel()}</div></div>`;
}
