// @ts-check
// The three parts of the form: what, when, how. A new job and a change of one share them.
import { cls, html, useId } from "../../lib/html.js";
import { Mark } from "../../components/marks.js";
import { Said } from "../../components/said.js";

const TYPES = [
  ["http", "HTTP"],
  ["lambda", "Lambda"],
  ["aws", "AWS call"],
  ["grpc", "gRPC"],
  ["shell", "Program"],
  ["python", "Python"],
];
const WHENS = [
  ["now", "Now"],
  ["at", "At a time"],
  ["delay", "After a delay"],
  ["cron", "Cron"],
  ["every", "Every"],
  ["event", "On an event"],
];
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"].map((one) => [one, one]);
const BODY = {
  http: "Sent as the body of the request.",
  lambda: "Passed to the function as its event.",
  aws: "Used as the input of the call if there is none.",
  grpc: "Sent as the request, in protobuf’s JSON form.",
  shell: "Passed to the program on standard input.",
  python: "Passed to the handler as its argument.",
};

const Part = ({ title, hint, right, children }) =>
  html`<section class="card" aria-label=${title}><header class="hs"><h2>${title}</h2>${hint && html`<span class="hint">${hint}</span>`}${right}</header><div class="body form">${children}</div></section>`;

function Target({ form }) {
  const by = {
    http: () =>
      html`<div class="two w31"><${Text} form=${form} name="url" api=${["callback_url", "target.url", "target"]} label="Address" mono type="text" inputmode="url" placeholder="https://example.com/work" /><${Select} form=${form} name="method" api="target.method" label="Method" choices=${METHODS} /></div>`,
    lambda: () =>
      html`<${Text} form=${form} name="function" api=${["target.function", "target"]} label="Function" mono hint="Its name or ARN. The stage must allow it." />`,
    aws: () =>
      html`<div class="two"><${Text} form=${form} name="service" api=${["target.service", "target"]} label="Service" mono placeholder="sqs" /><${Text} form=${form} name="action" api="target.action" label="Action" mono placeholder="SendMessage" /></div><${Area} form=${form} name="input" api="target.input" label="Input" optional />`,
    grpc: () =>
      html`<div class="two"><${Text} form=${form} name="address" api=${["target.address", "target"]} label="Address" mono placeholder="cache.internal:443" /><${Text} form=${form} name="rpc" api="target.method" label="Method" mono placeholder="cache.Warm/Region" /></div><${Select} form=${form} name="tls" api="target.tls" label="TLS" choices=${[
        ["", "for public addresses"],
        ["yes", "always"],
        ["no", "never"],
      ]} />`,
    shell: () =>
      html`<${Area} form=${form} name="argv" api=${["target.argv", "target"]} label="Program and arguments" rows=${3} hint="One argument per line. A worker must offer the program." placeholder=${"report\n--month\n2026-10"} />`,
    python: () =>
      html`<${Text} form=${form} name="handler" api=${["target.handler", "target"]} label="Handler" mono placeholder="send-email" hint="A worker must define it: @job(“send-email”)." />`,
  };
  return (
    by[form.f.type]?.() ?? html`<p class="muted">The target of this job is a workflow; it cannot be changed here.</p>`
  );
}

export function What({ form, change }) {
  const pick =
    form.f.type === "workflow"
      ? null
      : html`<${Choice} form=${form} name="type" label="Target" choices=${TYPES} small bare />`;
  return html`<${Part} title="What" right=${pick}>
    <div class="two"><${Text} form=${form} name="name" label="Name" maxlength="255" data-first=${!change} /><${Text} form=${form} name="tags" label="Tags" optional placeholder="team=core, pci" /></div>
    <${Target} form=${form} />
    <${Area} form=${form} name="payload" label="Payload" rows=${2} hint=${`JSON, up to 1 MiB. ${BODY[form.f.type] ?? ""}`} />
    <details class="fold"><summary>Description${form.f.type === "http" ? ", headers" : ", requirements"}</summary><div class="form">
      <${Area} form=${form} name="description" label="Description" optional />
      ${form.f.type === "http" && html`<${Area} form=${form} name="headers" api="target.headers" label="Headers" optional placeholder="X-Region: eu" hint="One per line. Secrets are masked when they are shown." />`}
      <${Text} form=${form} name="capabilities" api=${["requirements", "requirements.capabilities"]} label="Capabilities of the worker" optional placeholder="gpu, python3.12" /></div></details><//>`;
}

function Moment({ form }) {
  const { when } = form.f;
  if (when === "now") return html`<p class="muted">It runs right away.</p>`;
  if (when === "at")
    return html`<div class="two"><${Text} form=${form} name="at" label="At" type="datetime-local" step="1" /><${Text} form=${form} name="timezone" label="Time zone" placeholder="UTC" list="zones" /></div>`;
  if (when === "delay")
    return html`<div class="two"><${Text} form=${form} name="delay" label="Delay, seconds" inputmode="decimal" placeholder="600" /></div>`;
  if (when === "every")
    return html`<div class="two"><${Text} form=${form} name="every" label="Every, seconds" inputmode="numeric" placeholder="300, or rate(5 minutes)" /></div><${Window} form=${form} />`;
  if (when === "event")
    return html`<${Area} form=${form} name="event" api="on_event" label="Pattern of the event" rows=${4} placeholder=${'{"source": ["shop"], "detail-type": ["order.paid"]}'} hint="An EventBridge pattern. The payload can pick values from the event: “$.detail.id”." />`;
  return html`<div class="two w31"><${Text} form=${form} name="cron" label="Cron" mono placeholder="*/15 9-17 * * mon-fri" /><${Text} form=${form} name="timezone" label="Time zone" placeholder="UTC" list="zones" /></div><${CronFields} expression=${form.f.cron} /><${Window} form=${form} />`;
}

const Window = ({ form }) =>
  html`<div class="three"><${Text} form=${form} name="jitter" api="jitter_seconds" label="Jitter, seconds" inputmode="numeric" placeholder="0" /><${Text} form=${form} name="start" api="start_at" label="Not before" optional type="datetime-local" step="1" /><${Text} form=${form} name="end" api="end_at" label="Not after" optional type="datetime-local" step="1" /></div>`;

const zones = () => (Intl.supportedValuesOf ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : ["UTC"]);

/** `kinds`: the choices that a change may keep to; a job stays of its kind. */
export function When({ form, kinds }) {
  const choices = kinds ? WHENS.filter(([value]) => kinds.includes(value)) : WHENS;
  return html`<${Part} title="When" right=${choices.length > 1 && html`<${Choice} form=${form} name="when" label="When" choices=${choices} small bare />`}>
    <datalist id="zones">${zones().map((name) => html`<option value=${name}></option>`)}</datalist><${Moment} form=${form} /><//>`;
}

export function How({ form }) {
  const recurs = ["cron", "every"].includes(form.f.when);
  const fixed = form.f.when === "cron";
  return html`<${Part} title="How" hint="the defaults suit most jobs">
    <div class="three"><${Choice} form=${form} name="priority" label="Priority" choices=${[
      ["HIGH", "High"],
      ["MEDIUM", "Medium"],
      ["LOW", "Low"],
    ]} /><${Text} form=${form} name="maxRetries" api=${["retry.max_retries", "retry"]} label="Retries" inputmode="numeric" /><${Text} form=${form} name="timeout" api="timeout_seconds" label="Timeout, seconds" inputmode="numeric" hint="of one attempt" /></div>
    <div class="three"><${Text} form=${form} name="backoff" api="retry.backoff_seconds" label="First wait, seconds" inputmode="decimal" /><${Text} form=${form} name="factor" api="retry.factor" label="Then multiplied by" inputmode="decimal" /><${Text} form=${form} name="maxBackoff" api="retry.max_backoff_seconds" label="Longest wait, seconds" inputmode="decimal" /></div>
    <label class="switch"><input type="checkbox" checked=${form.f.retryJitter} onChange=${(event) => form.set({ retryJitter: event.target.checked })} />Wait a random part of that time</label>
    <div class="three"><${Text} form=${form} name="gates" label="Gates" optional placeholder="stripe, customer:42" hint="up to 3" /><${Text} form=${form} name="startWithin" api="start_within_seconds" label="Start within, seconds" optional inputmode="numeric" hint="else the run is skipped" />${recurs ? html`<${Text} form=${form} name="maxRuns" api="max_runs" label="Maximum runs" optional inputmode="numeric" />` : null}</div>
    ${
      recurs &&
      html`<div class="three"><${Choice} form=${form} name="overlap" label="If one is still running" choices=${[
        ["allow", "Start"],
        ["skip", "Skip"],
        ["queue", "Queue"],
      ]} />
      <${Select} form=${form} name="misfire" api="misfire.policy" label="Missed fires" choices=${[
        ["run_latest", "run the latest"],
        ["run_all", "run all"],
        ["skip", "skip"],
      ]} /><${Text} form=${form} name="grace" api=${["misfire.grace_seconds", "misfire"]} label="Missed by more than, seconds" inputmode="numeric" /></div>`
    }
    ${
      fixed &&
      html`<div class="three"><${Select} form=${form} name="gap" api="dst.gap" label="When clocks skip the time" choices=${[
        ["run_after", "run after the gap"],
        ["skip", "skip"],
      ]} /><${Select} form=${form} name="twice" api="dst.overlap" label="When clocks show it twice" choices=${[
        ["once", "run once"],
        ["twice", "run twice"],
      ]} /></div>`
    }<//>`;
}

// The five fields of a cron expression, each with its meaning.

const PARTS = ["minute", "hour", "day", "month", "weekday"];
const DAYS = { sun: "Sun", mon: "Mon", tue: "Tue", wed: "Wed", thu: "Thu", fri: "Fri", sat: "Sat" };
const NUMBERED = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** One field in words, or "" when it is not simple. */
function words(text, place) {
  const name = (each) => (place === 4 ? (DAYS[each.toLowerCase()] ?? NUMBERED[Number(each)] ?? each) : each);
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
function CronFields({ expression }) {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5 || parts[0].startsWith("@") || parts[0].startsWith("cron(")) return null;
  return html`<div class="cronf">${parts.map((part, place) => html`<div><b class="cut">${part}</b><span>${PARTS[place]}</span><em>${words(part, place)}</em></div>`)}</div>`;
}

// Fields with their label, hint and the API's own message.

/** `form` is {f, set(changes), errors: [{field, message}]}. */
const errorOf = (form, namesOf) =>
  form.errors.find(({ field }) => namesOf.some((name) => field === name || field.startsWith(`${name}.`)));

function Frame({ form, api, label, optional, hint, className, children }) {
  const id = useId();
  const found = errorOf(form, api);
  const told = cls(found && `${id}-e`, hint && `${id}-h`) || null;
  return html`<div class=${cls("field", className)}><label for=${id}>${label}${optional && html` <span class="faint">optional</span>`}</label>
    ${children({ id, "aria-invalid": found ? "true" : null, "aria-describedby": told, "data-field": api[0] })}
    ${found && html`<p class="err" id=${`${id}-e`}><${Mark} status="failed" tone="" /><span>${found.field} <${Said} text=${found.message} /></span></p>`}${hint && html`<p class="hint" id=${`${id}-h`}>${hint}</p>`}</div>`;
}

const namesOf = (api, name) => (api === undefined ? [name] : Array.isArray(api) ? api : [api]);

/** A line of text. `name` is the field of the form, `api` the name or namesOf that the API uses for it. */
function Text({ form, name, api, label, mono, type = "text", ...rest }) {
  const { hint, optional, className, ...input } = rest;
  return html`<${Frame} form=${form} api=${namesOf(api, name)} label=${label} hint=${hint} optional=${optional} className=${className}>${(told) => html`<input class=${cls("input", mono && "mono")} type=${type} autocomplete="off" spellcheck=${false} value=${form.f[name]} onInput=${(event) => form.set({ [name]: event.target.value })} ...${input} ...${told} />`}<//>`;
}

/** Some lines of text. */
function Area({ form, name, api, label, rows = 2, hint, optional, placeholder }) {
  return html`<${Frame} form=${form} api=${namesOf(api, name)} label=${label} hint=${hint} optional=${optional}>${(told) => html`<textarea class="area" rows=${rows} spellcheck=${false} placeholder=${placeholder} value=${form.f[name]} onInput=${(event) => form.set({ [name]: event.target.value })} ...${told}></textarea>`}<//>`;
}

/** A choice in a list. choices: [[value, text]]. */
function Select({ form, name, api, label, choices, hint }) {
  return html`<${Frame} form=${form} api=${namesOf(api, name)} label=${label} hint=${hint}>${(
    told,
  ) => html`<select class="select" value=${form.f[name]} onChange=${(event) => form.set({ [name]: event.target.value })} ...${told}>
    ${choices.map(([value, text]) => html`<option value=${value} selected=${form.f[name] === value}>${text}</option>`)}</select>`}<//>`;
}

/** A choice among few, side by side. `bare`: the label is for screen readers only. */
function Choice({ form, name, label, choices, small, bare }) {
  const id = useId();
  const group = html`<div class=${cls("seg", small && "small")} role="radiogroup" aria-labelledby=${id}>${choices.map(([value, text]) => html`<label><input type="radio" name=${id} value=${value} checked=${form.f[name] === value} onChange=${() => form.set({ [name]: value })} />${text}</label>`)}</div>`;
  return bare
    ? html`<span class="vh" id=${id}>${label}</span>${group}`
    : html`<div class="field"><span class="lab" id=${id}>${label}</span>${group}</div>`;
}
