// @ts-check
// Make a gate or set its limits: a dialog with the same action as a command.
import { html, useId, useState } from "../../lib/html.js";
import { put } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { Button, CopyAs } from "../../components/bits.js";
import { Dialog } from "../../components/dialog.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";
import { announce } from "../../components/toast.js";

const LIMITS = [
  ["in_flight", "At a time", "the most attempts running at once; 0 stops the gate"],
  ["per_second", "Per second", "the most starts per second; 0 stops the gate"],
  ["burst", "Burst after a quiet time", "needs a rate per second"],
];

/** A number, null for an empty field, and the text itself when it is not a number: the API says what is wrong with it. */
const read = (text) => (text.trim() === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text);

export function GateForm({ gate, onDone, onClose }) {
  const id = useId();
  const [name, setName] = useState(gate?.name ?? "");
  const [values, setValues] = useState(
    Object.fromEntries(LIMITS.map(([field]) => [field, String(gate?.[field] ?? "")])),
  );
  const [paused, setPaused] = useState(gate?.paused ?? false);
  const [state, setState] = useState({ busy: false, error: null });
  const body = { ...Object.fromEntries(LIMITS.map(([field]) => [field, read(values[field])])), paused };
  const byField = state.error?.byField ?? {};
  const general = state.error && !Object.keys(byField).length ? state.error.message : null;
  const send = async (event) => {
    event.preventDefault();
    if (!name.trim()) return setState({ busy: false, error: { byField: { name: "is required" } } });
    setState({ busy: true, error: null });
    try {
      const made = await put(`gates/${encodeURIComponent(name.trim())}`, body);
      announce(gate ? `The limits of ${made.name} now apply` : `Gate ${made.name} created`);
      return onDone(made);
    } catch (error) {
      return setState({ busy: false, error });
    }
  };
  return html`<${Dialog} titleId=${id} className="edit gateform" onClose=${onClose}><form onSubmit=${send} noValidate><div class="pin"><h2 id=${id}>${gate ? `Limits of ${gate.name}` : "New gate"}</h2></div>
    <div class="ebody">${!gate && html`<${Field} id=${`${id}-name`} label="Name" hint="1 to 64 of a-z, 0-9, _ and -; jobs name it in gates" error=${byField.name ?? byField.gate} value=${name} onInput=${setName} first />`}
      <div class="three">${LIMITS.map(([field, label, hint], place) => html`<${Field} key=${field} id=${`${id}-${field}`} label=${label} hint=${`${hint}; empty: no limit`} error=${byField[field]} value=${values[field]} numeric first=${gate && !place} onInput=${(value) => setValues({ ...values, [field]: value })} />`)}</div>
      <label class="switch"><input type="checkbox" checked=${paused} onChange=${(event) => setPaused(event.target.checked)} />Paused: no runs start</label>
      ${general && html`<p class="t-fail" role="alert"><${Said} text=${general} /></p>`}
      <${CopyAs} calls=${COPY.gate(name.trim() || "NAME", body)} /></div>
    <div class="pfoot acts"><span class="faint">This replaces all limits.</span><span class="r"><${Button} kind="quiet" hotkey="Esc" onClick=${onClose}>Back<//>
      <button type="submit" class="btn primary" disabled=${state.busy}>${state.busy ? "Saving …" : gate ? "Set limits" : "Create gate"}</button></span></div></form><//>`;
}

function Field({ id, label, hint, error, value, onInput, first, numeric }) {
  return html`<div class="field"><label for=${id}>${label}</label><input id=${id} class="input" inputmode=${numeric ? "decimal" : null} autocomplete="off" value=${value} data-first=${first ? "" : null} aria-invalid=${error ? "true" : null} aria-describedby=${`${id}-hint`} onInput=${(event) => onInput(event.target.value)} />
    ${error ? html`<p class="err" id=${`${id}-hint`} role="alert"><${Mark} status="failed" />${error}</p>` : html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`;
}
