// The keyboard table.
import { html, useId } from "../lib/html.js";
import { KEYS, setSingleKeys, singleKeys } from "../lib/keys.js";
import { mayAct } from "../lib/roles.js";
import { Button } from "../components/bits.js";
import { Dialog } from "../components/dialog.js";

const ACTIONS = new Set(["new job", "bulk actions", "run now", "pause or resume", "edit"]);

export function Help({ onClose }) {
  const id = useId();
  const shown = (what) => mayAct.value || !ACTIONS.has(what);
  return html`<${Dialog} titleId=${id} className="help" onClose=${onClose}><div class="pin"><h2 id=${id}>Keyboard</h2><${Button} data-first small kind="quiet" hotkey="Esc" onClick=${onClose}>Close<//></div>
    <div class="keys" tabindex="0" role="group" aria-label="Keys">${KEYS.map(([group, keys]) => html`<section><h3>${group}</h3><dl>
      ${keys.filter(([, what]) => shown(what)).map(([names, what]) => html`<div><dt>${names.map((name) => html`<kbd>${name}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl></section>`)}</div>
    <div class="pfoot always"><label class="switch"><input type="checkbox" checked=${singleKeys.value} onChange=${(event) => setSingleKeys(event.target.checked)} /> Single keys act. Off: only Ctrl K and Esc do.</label></div><//>`;
}
