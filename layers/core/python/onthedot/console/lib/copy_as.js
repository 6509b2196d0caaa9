// @ts-check
// Each action as a command, as curl and as Python, so that what is done by hand once can be done by a program. Names of
// commands, options and methods come from the API's own description, which is read when the first of them is shown.
import { address, baseUrl } from "./api.js";
import { signal } from "./html.js";

/** The OpenAPI document; undefined until it is read, null when it cannot be: then only curl is known. */
export const description = signal(undefined);
let reading = null;

/** Read the description once. After a failure, the next call tries again. */
export function describe() {
  reading ??= fetch(`${baseUrl()}/openapi.json`, { credentials: "omit" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null)
    .then((found) => {
      if (!found) reading = null;
      return (description.value = found);
    });
  return reading;
}

/** Quote a text for a shell. */
export const quoted = (text) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${String(text).replaceAll("'", `'\\''`)}'`);

/** A JSON value as Python writes it. */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, each]) => `${JSON.stringify(key)}: ${python(each)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

/**
 * A call of the API. `command` stands for one that sets only a part of what the call sets; `otherwise` is the option of
 * a command that has no other; `each` is printed for each step of a method that yields them.
 * @typedef {object} Call
 * @property {string} method
 * @property {string} path with places: `/v1/jobs/{id}`
 * @property {Record<string, string>} [places]
 * @property {Record<string, any>} [query]
 * @property {Record<string, any>} [body]
 * @property {Record<string, any>} [headers]
 * @property {string} [command]
 * @property {string} [otherwise]
 * @property {string} [each]
 */

const job =
  (method, verb = "") =>
  /** @param {string} id @returns {Call} */ (id) => ({
    method,
    path: `/v1/jobs/{id}${verb}`,
    places: { id },
  });
const run = job("POST", "/run");
const change = job("PATCH");
const gate = (method) => /** @param {string} name @returns {Call} */ (name) => ({
  method,
  path: "/v1/gates/{name}",
  places: { name },
});
const FIRST_WORKFLOW = [
  { key: "load", callback_url: "https://example.com/load" },
  { key: "report", callback_url: "https://example.com/report", depends_on: ["load"] },
];

/** The calls that the console shows, by name. */
export const COPY = {
  get: job("GET"),
  explain: job("GET", "/explain"),
  pause: job("POST", "/pause"),
  resume: job("POST", "/resume"),
  cancel: job("PUT", "/cancel"),
  delete: job("DELETE"),
  /** @type {(id: string, payload?: any) => Call} */
  run: (id, payload) => ({ ...run(id), body: payload === undefined ? undefined : { payload } }),
  /** @type {(id: string, body: object, version?: number) => Call} */
  change: (id, body, version) => ({
    ...change(id),
    body,
    headers: version === undefined ? {} : { "If-Match": version },
  }),
  /** @type {(body: object) => Call} */
  create: (body) => ({ method: "POST", path: "/v1/jobs", body }),
  /** @type {(body: object) => Call} */
  bulk: (body) => ({ method: "POST", path: "/v1/jobs/bulk", body, each: "step.done, step.failed" }),
  /** @type {(body: object) => Call} */
  redrive: (body) => ({ method: "POST", path: "/v1/dead-letters/redrive", body }),
  /** @type {(name: string, body: object, verb?: string) => Call} */
  gate: (name, body, verb) => ({
    ...gate("PUT")(name),
    body,
    command: verb && `gates ${verb} {name}`,
    otherwise: "--no-limits",
  }),
  showGate: gate("GET"),
  deleteGate: gate("DELETE"),
  /** @type {(minutes: number) => Call} */
  forecast: (minutes) => ({ method: "GET", path: "/v1/forecast", query: { minutes } }),
  /** @type {(id: string) => Call} */
  workflow: (id) => ({ method: "GET", path: "/v1/workflows/{id}", places: { id } }),
  /** @type {() => Call} */
  startWorkflow: () => ({ method: "POST", path: "/v1/workflows", body: { name: "nightly", jobs: FIRST_WORKFLOW } }),
};

/**
 * The forms of one call, or of several, one after the other: {cli, curl, python}, or {curl} without a description.
 * @param {Call | Call[]} calls
 * @param {any} document
 * @returns {{curl: string, cli?: string, python?: string}}
 */
export function formsOf(calls, document) {
  const all = Array.isArray(calls) ? calls : [calls];
  const shell = all.map(curl).join("\n");
  if (!document) return { curl: shell };
  const known = all.map((call) => writtenOf(call, document));
  return {
    cli: known.map((each) => each.cli).join("\n"),
    curl: shell,
    python: ["from onthedot import Client", ...known.map((each) => each.python)].join("\n"),
  };
}

/** The curl form. The token is read from the environment: it must not land in a shell's history. */
function curl({ method, path, places, query, body, headers = {} }) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(places[name]));
  const lines = [
    `curl -sS ${method === "GET" ? "" : `-X ${method} `}${quoted(baseUrl() + address(filled, query))}`,
    `  -H "Authorization: Bearer $ONTHEDOT_TOKEN"`,
  ];
  lines.push(...Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`));
  if (body !== undefined) lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n");
}

const CLI = "x-onthedot-cli";

/** The command and the Python of a call. */
function writtenOf(call, document) {
  const operation = document.paths[call.path][call.method.toLowerCase()];
  const template = call.command ?? operation[CLI];
  const given = { ...call.places, ...call.query, ...call.body, ...call.headers };
  const named = [...operation[CLI].matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const fields = fieldsOf(operation, document);
  const rest = Object.entries(given)
    .filter(([name]) => !named.includes(name))
    .map(([name, value]) => fieldOf(name, value, TARGETS[name] ?? fields[name]))
    .filter((field) => isGiven(field, call.method));
  // A command that sets a part has it in its words, and one that reads a file has all of it there.
  const isWhole = Boolean(call.command) || template.includes("@");
  const options = isWhole ? [] : rest.flatMap((field) => optionsOf(field, call.method));
  if (!isWhole && !options.length && call.otherwise) options.push([call.otherwise]);
  const words = template.replace(/\{(\w+)\}/g, (_, name) => quoted(String(given[name])));
  const code = called(operation["x-onthedot-client"], [
    ...named.map((name) => python(given[name])),
    ...rest.flatMap(argumentsOf),
  ]);
  return {
    cli: command(words, options),
    python: call.each ? `for step in ${code}:\n    print(${call.each})` : code,
  };
}

/** How the fields of a call are written: its parameters, and the properties of its body. */
const fieldsOf = ({ parameters, requestBody }, document) => ({
  ...Object.fromEntries(parameters.map((each) => [each.name, each[CLI]])),
  ...partsOf(requestBody?.content["application/json"].schema, document),
});

/** How the properties of an object are written, by name. */
function partsOf(schema, document) {
  const name = [schema, ...(schema?.anyOf ?? [])]
    .find((each) => each?.$ref)
    ?.$ref.split("/")
    .at(-1);
  const written = ([property, each]) => [
    property,
    each[CLI]?.form === "parts" ? { parts: partsOf(each, document), ...each[CLI] } : each[CLI],
  ];
  return Object.fromEntries(Object.entries(document.components.schemas[name]?.properties ?? {}).map(written));
}

/** A field with how it is written. A target that has a short way is written in this way. */
function fieldOf(name, value, how = {}) {
  if (name === "target" && value?.type === "python")
    return { name, value: value.handler, option: "--python", form: "", argument: "handler" };
  return { name, value, option: `--${name.replaceAll("_", "-")}`, form: "", argument: name, ...how };
}

/** Whether a field says something. In a change, null is said: the job loses the field. A payload may be null. */
const isGiven = ({ form, value }, method) =>
  value !== undefined && (form === "json" || method === "PATCH" || (value !== null && value !== false));

/** Whether a change leaves the job without the field. */
const isCleared = ({ form, value, whole }) =>
  form !== "json" &&
  (value === null ||
    (typeof value === "object" &&
      (whole
        ? Object.values(value)
            .flat()
            .every((each) => each === 0)
        : !Object.keys(value).length)));

function optionsOf(field, method) {
  if (method === "PATCH" && isCleared(field)) return [["--clear", field.name]];
  return WRITERS[field.form](field.option, field.value, field);
}

/** How a value is written on the command line, by the form of its field: words, or an option with its value. */
const WRITERS = {
  "": (option, value) => [[option, value]],
  json: (option, value) => [[option, JSON.stringify(value)]],
  seconds: (option, value) => [[option, typeof value === "number" ? `${value}s` : value]],
  switch: (option, value) => [[option, value ? "on" : "off"]],
  flag: (option) => [[option]],
  repeated: (option, values) => values.map((value) => [option, value]),
  pairs: (option, values) => Object.entries(values).map(([key, value]) => [option, `${key}=${value}`]),
  words: (_, values) => values.map((value) => [value]),
  filters: (option, values) => [[option], ...Object.entries(values).map(([name, value]) => [`--${name}`, value])],
  // The parts that are 0 are as if they were left out, where the value replaces the current one as a whole.
  parts: (_, values, { parts, whole }) =>
    Object.entries(values)
      .filter(([, value]) => !whole || value !== 0)
      .flatMap(([name, value]) => {
        const { option, form } = fieldOf(name, value, parts[name]);
        return WRITERS[form](option, value);
      }),
  target: (option, { type, ...rest }) =>
    type === "http"
      ? [
          ["--http", rest.url],
          ...(rest.method ? [["--method", rest.method]] : []),
          ...Object.entries(rest.headers ?? {}).map(([name, value]) => ["--header", `${name}:${value}`]),
        ]
      : [[option, JSON.stringify({ type, ...rest })]],
};

const argumentsOf = ({ form, argument, value }) =>
  form === "filters"
    ? Object.entries(value).map(([name, each]) => `${name}=${python(each)}`)
    : [`${argument}=${python(value)}`];

const MOST_IN_LINE = 2;

/** A command with its options, each on a line when they are many. */
function command(words, options) {
  const [plain, named] = [options.filter((each) => !isOption(each)), options.filter(isOption)];
  const first = ["onthedot", words, ...plain.flat().map(quoted)].join(" ");
  const texts = named.map(([option, ...values]) => [option, ...values.map((value) => quoted(String(value)))].join(" "));
  return [first, ...texts].join(texts.length > MOST_IN_LINE ? " \\\n  " : " ");
}
const isOption = ([first]) => String(first).startsWith("--");

const called = (method, given) =>
  `Client().${method}(${given.length > 2 ? `\n    ${given.join(",\n    ")},\n` : given.join(", ")})`;

/** Short ways to say a target. */
const TARGETS = { callback_url: { option: "--http", argument: "url" }, target: { form: "target" } };
