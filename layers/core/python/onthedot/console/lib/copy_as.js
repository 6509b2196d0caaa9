// Each action as a command, as curl and as Python, so that what is done by hand once can be done by a program.
import { baseUrl } from "./api.js";

/** Quote a text for a shell. */
export const quoted = (text) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${String(text).replaceAll("'", `'\\''`)}'`);

/** A JSON value as Python writes it. */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${python(each)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** The curl form of any call. The token is read from the environment: it must not land in a shell's history. */
export function curl(method, path, body, headers = {}) {
  const url = `${baseUrl()}${path}`;
  const lines = [`curl -sS ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`, `  -H "Authorization: Bearer $ONTHEDOT_TOKEN"`];
  lines.push(...Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`));
  if (body !== undefined) lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n");
}

const IMPORT = "from onthedot import Client";

/** The three forms of an action: {cli, curl, python}. */
const forms = ({ cli, method, path, body, headers, python: code }) => ({ cli, curl: curl(method, path, body, headers), python: `${IMPORT}\n${code}` });

/** The forms of several calls, one after the other. Python imports the client once. */
export const inTurn = ([first, ...rest]) => ({
  cli: [first, ...rest].map((each) => each.cli).join("\n"),
  curl: [first, ...rest].map((each) => each.curl).join("\n"),
  python: [first.python, ...rest.map((each) => each.python.slice(IMPORT.length + 1))].join("\n"),
});

const job = (id) => `/v1/jobs/${encodeURIComponent(id)}`;
const ofJob = (verb, method, path) => (id) => forms({ cli: `onthedot ${verb} ${id}`, method, path: path(id), python: `Client().${verb}(${JSON.stringify(id)})` });

/** The actions that the console knows, by name. */
export const COPY = {
  get: ofJob("get", "GET", job),
  explain: ofJob("explain", "GET", (id) => `${job(id)}/explain`),
  pause: ofJob("pause", "POST", (id) => `${job(id)}/pause`),
  resume: ofJob("resume", "POST", (id) => `${job(id)}/resume`),
  cancel: ofJob("cancel", "PUT", (id) => `${job(id)}/cancel`),
  delete: ofJob("delete", "DELETE", job),
  run: (id, payload) => forms({
    cli: `onthedot run ${id}${payload === undefined ? "" : ` --payload ${quoted(JSON.stringify(payload))}`}`,
    method: "POST", path: `${job(id)}/run`, body: payload === undefined ? undefined : { payload },
    python: `Client().run(${JSON.stringify(id)}${payload === undefined ? "" : `, payload=${python(payload)}`})`,
  }),
  change: (id, fields, version) => forms({ ...changeForms(id, fields, version), method: "PATCH", path: job(id), body: fields, headers: version === undefined ? {} : { "If-Match": version } }),
  create: (fields) => forms({ ...createForms(fields), method: "POST", path: "/v1/jobs", body: fields }),
  bulk: (body) => forms({ cli: bulkCommand(body), method: "POST", path: "/v1/jobs/bulk", body, python: `for step in Client().bulk(${JSON.stringify(body.action)}, ${body.ids ? `ids=${python(body.ids)}` : Object.entries(body.filter).map(([name, value]) => `${name}=${python(value)}`).join(", ")}):\n    print(step.done, step.failed)` }),
  redrive: (body) => forms({
    cli: `onthedot redrive ${body.ids ? body.ids.map(quoted).join(" ") : redriveOptions(body)}`,
    method: "POST", path: "/v1/dead-letters/redrive", body,
    python: `Client().redrive(${body.ids ? python(body.ids) : redriveArguments(body)})`,
  }),
  gate: (name, fields, only) => forms({ cli: gateCommand(name, fields, only), method: "PUT", path: gate(name), body: fields, python: `Client().set_gate(${[JSON.stringify(name), ...known(fields).map(([field, value]) => `${field}=${python(value)}`)].join(", ")})` }),
  showGate: (name) => forms({ cli: `onthedot gates show ${quoted(name)}`, method: "GET", path: gate(name), python: `Client().gate(${JSON.stringify(name)})` }),
  deleteGate: (name) => forms({ cli: `onthedot gates delete ${quoted(name)}`, method: "DELETE", path: gate(name), python: `Client().delete_gate(${JSON.stringify(name)})` }),
  forecast: (minutes) => forms({ cli: `onthedot forecast --minutes ${minutes}`, method: "GET", path: `/v1/forecast?minutes=${minutes}`, python: `Client().forecast(${minutes})` }),
  workflow: (id) => forms({ cli: `onthedot workflow show ${id}`, method: "GET", path: `/v1/workflows/${encodeURIComponent(id)}`, python: `Client().get_workflow(${JSON.stringify(id)})` }),
  startWorkflow: () => forms({
    cli: "onthedot workflow start @nightly.json", method: "POST", path: "/v1/workflows", body: { name: "nightly", jobs: FIRST_WORKFLOW },
    python: `Client().workflow(${python(FIRST_WORKFLOW)}, name="nightly")`,
  }),
};

function bulkCommand({ action, ids, filter }) {
  if (ids) return `onthedot ${action} ${ids.join(" ")}`;
  return `onthedot ${action} --all${Object.entries(filter).map(([name, value]) => ` --${name} ${quoted(["status", "priority"].includes(name) ? value.toLowerCase() : value)}`).join("")}`;
}

const gate = (name) => `/v1/gates/${encodeURIComponent(name)}`;
const known = (fields) => Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== false);
const FIRST_WORKFLOW = [
  { key: "load", callback_url: "https://example.com/load" },
  { key: "report", callback_url: "https://example.com/report", depends_on: ["load"] },
];

/** The fields of a filter of dead letters, as the command line and the client name them. */
const FILTERS = [["from", "since"], ["to", "until"], ["name", "name"], ["job_id", "job"], ["cause", "cause"]];
const filtersOf = (body) => FILTERS.filter(([field]) => body[field] != null);
const redriveOptions = (body) => filtersOf(body).map(([field, name]) => `--${name} ${quoted(body[field])}`).join(" ") || "--all";
const redriveArguments = (body) => filtersOf(body).map(([field, name]) => `${name}=${python(body[field])}`).join(", ");

/** The forms of several calls, one after the other. */
export function joined(all) {
  const one = (form) => [...new Set(all.flatMap((each) => each[form].split("\n")[0] === IMPORT ? each[form].split("\n") : [each[form]]))].join("\n");
  return { cli: one("cli"), curl: one("curl"), python: one("python") };
}

/** The command that sets a gate, or that pauses or resumes it when only this changes. */
function gateCommand(name, { in_flight: inFlight, per_second: perSecond, burst, paused } = {}, only = null) {
  if (only) return `onthedot gates ${only} ${quoted(name)}`;
  const options = [["--in-flight", inFlight], ["--per-second", perSecond], ["--burst", burst]].filter(([, value]) => value != null);
  return `onthedot gates set ${quoted(name)}${options.map(([option, value]) => ` ${option} ${quoted(String(value))}`).join("")}${paused ? " --paused" : options.length ? "" : " --no-limits"}`;
}

const seconds = (value) => `${value}s`;
const FLAGS = {
  name: "--name", description: "--description", cron: "--cron", timezone: "--tz", at: "--at", start_at: "--start-at", end_at: "--end-at", max_runs: "--max-runs", overlap: "--overlap", priority: "--priority", callback_url: "--http",
  on_parent_failure: "--on-parent-failure", idempotency_key: "--idempotency-key",
};
/** The options of the parts of a field, in the order of its parts. */
const parts = (options) => (value) => Object.entries(value).flatMap(([part, each]) => (Array.isArray(each) ? each.map((one) => [options[part], one]) : [[options[part], part.endsWith("_seconds") ? seconds(each) : typeof each === "boolean" ? (each ? "on" : "off") : each]]));
const WRITERS = {
  every: (value) => [["--every", typeof value === "number" ? seconds(value) : value]], delay: (value) => [["--in", seconds(value)]], jitter_seconds: (value) => [["--jitter", seconds(value)]],
  timeout_seconds: (value) => [["--timeout", seconds(value)]], start_within_seconds: (value) => [["--start-within", seconds(value)]],
  on_event: (value) => [["--on-event", JSON.stringify(value)]], payload: (value) => [["--payload", JSON.stringify(value)]],
  tags: (value) => Object.entries(value).map(([key, each]) => ["--tag", `${key}=${each}`]), gates: (value) => value.map((each) => ["--gate", each]), dependencies: (value) => value.map((each) => ["--depends-on", each]),
  dst: parts({ gap: "--dst-gap", overlap: "--dst-overlap" }), misfire: parts({ policy: "--misfire", grace_seconds: "--misfire-grace" }),
  retry: parts({ max_retries: "--max-retries", backoff_seconds: "--backoff", factor: "--backoff-factor", max_backoff_seconds: "--max-backoff", jitter: "--backoff-jitter" }),
  // They replace those of the job, so what is 0 can be left out.
  requirements: (value) => parts({ capabilities: "--capability", cpu: "--cpu", memory_mb: "--memory-mb", storage_mb: "--storage-mb" })(Object.fromEntries(Object.entries(value).filter(([, each]) => each !== 0))),
  target: targetOptions,
};

function targetOptions({ type, ...rest }) {
  if (type === "http") return [["--http", rest.url], ...(rest.method ? [["--method", rest.method]] : []), ...Object.entries(rest.headers ?? {}).map(([name, value]) => ["--header", `${name}:${value}`])];
  if (type === "python") return [["--python", rest.handler]];
  return [["--target", JSON.stringify({ type, ...rest })]];
}

const optionsOf = (name, value) => (name in FLAGS ? [[FLAGS[name], value]] : WRITERS[name](value));
/** A command with its options. */
const command = (words, options) => [words, ...options.flat().map(([option, value]) => `${option} ${quoted(String(value))}`)].join(" \\\n  ");
const called = (method, given) => `Client().${method}(${given.length > 2 ? `\n    ${given.join(",\n    ")},\n` : given.join(", ")})`;
const named = (fields) => Object.entries(fields).map(([name, value]) => `${name}=${python(value)}`);

/** The work of a job as Python names it, with the other fields: [work, rest]. */
function workOf({ target, callback_url: url, ...rest }, handler) {
  return [target?.type === "python" ? [`${handler}${JSON.stringify(target.handler)}`] : target ? [`target=${python(target)}`] : url ? [`url=${JSON.stringify(url)}`] : [], rest];
}

/** A new job as a command and as Python. */
function createForms(fields) {
  const [work, rest] = workOf(fields, "");
  return { cli: command("onthedot schedule", Object.entries(fields).map(([name, value]) => optionsOf(name, value))), python: called("schedule", [...work, ...named(rest)]) };
}

/** Whether a change leaves the job without the field. A payload may be any JSON, and has an option for it. */
const isCleared = (name, value) => name !== "payload" && (value === null || (["gates", "tags", "requirements"].includes(name) && Object.values(value).flat().every((each) => each === 0)));

/** A change of a job as a command and as Python. */
function changeForms(id, fields, version) {
  const [work, rest] = workOf(fields, "handler=");
  const options = Object.entries(fields).map(([name, value]) => (isCleared(name, value) ? [["--clear", name]] : optionsOf(name, value)));
  const only = version === undefined ? {} : { if_version: version };
  return { cli: command(`onthedot change ${id}`, [...options, Object.values(only).map((value) => ["--if-version", value])]), python: called("change", [JSON.stringify(id), ...work, ...named({ ...rest, ...only })]) };
}
