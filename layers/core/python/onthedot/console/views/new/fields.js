// Fields with their label, hint and the API's own message.
import { cls, html, useId } from "../../lib/html.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";

/** `form` is {f, set(changes), errors: [{field, message}]}. */
export const errorOf = (form, names) => form.errors.find(({ field }) => names.some((name) => field === name || field.startsWith(`${name}.`)));

function Frame({ form, api, label, optional, hint, className, children }) {
  const id = useId();
  const found = errorOf(form, api);
  const told = cls(found && `${id}-e`, hint && `${id}-h`) || null;
  return html`<div class=${cls("field", className)}><label for=${id}>${label}${optional && html` <span class="faint">optional</span>`}</label>
    ${children({ id, "aria-invalid": found ? "true" : null, "aria-describedby": told, "data-field": api[0] })}
    ${found && html`<p class="err" id=${`${id}-e`}><${Mark} status="failed" tone="" /><span>${found.field} <${Said} text=${found.message} /></span></p>`}${hint && html`<p class="hint" id=${`${id}-h`}>${hint}</p>`}</div>`;
}

const names = (api, name) => (api === undefined ? [name] : Array.isArray(api) ? api : [api]);

/** A line of text. `name` is the field of the form, `api` the name or names that the API uses for it. */
export function Text({ form, name, api, label, mono, type = "text", ...rest }) {
  const { hint, optional, className, ...input } = rest;
  return html`<${Frame} form=${form} api=${names(api, name)} label=${label} hint=${hint} optional=${optional} className=${className}>${(told) => html`<input class=${cls("input", mono && "mono")} type=${type} autocomplete="off" spellcheck=${false} value=${form.f[name]} onInput=${(event) => form.set({ [name]: event.target.value })} ...${input} ...${told} />`}<//>`;
}

/** Some lines of text. */
export function Area({ form, name, api, label, rows = 2, hint, optional, placeholder }) {
  return html`<${Frame} form=${form} api=${names(api, name)} label=${label} hint=${hint} optional=${optional}>${(told) => html`<textarea class="area" rows=${rows} spellcheck=${false} placeholder=${placeholder} value=${form.f[name]} onInput=${(event) => form.set({ [name]: event.target.value })} ...${told}></textarea>`}<//>`;
}

/** A choice in a list. choices: [[value, text]]. */
export function Select({ form, name, api, label, choices, hint }) {
  return html`<${Frame} form=${form} api=${names(api, name)} label=${label} hint=${hint}>${(told) => html`<select class="select" value=${form.f[name]} onChange=${(event) => form.set({ [name]: event.target.value })} ...${told}>
    ${choices.map(([value, text]) => html`<option value=${value} selected=${form.f[name] === value}>${text}</option>`)}</select>`}<//>`;
}

/** A choice among few, side by side. `bare`: the label is for screen readers only. */
export function Choice({ form, name, label, choices, small, bare }) {
  const id = useId();
  const group = html`<div class=${cls("seg", small && "small")} role="radiogroup" aria-labelledby=${id}>${choices.map(([value, text]) => html`<label><input type="radio" name=${id} value=${value} checked=${form.f[name] === value} onChange=${() => form.set({ [name]: value })} />${text}</label>`)}</div>`;
  return bare ? html`<span class="vh" id=${id}>${label}</span>${group}` : html`<div class="field"><span class="lab" id=${id}>${label}</span>${group}</div>`;
}
