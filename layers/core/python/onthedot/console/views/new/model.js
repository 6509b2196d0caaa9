// @ts-check
// The fields of the form, and the job that they make. Texts stay texts until they are sent: the API judges them.
import { zone } from "../../lib/time.js";

export const EMPTY = {
  name: "",
  description: "",
  tags: "",
  type: "http",
  url: "",
  method: "POST",
  headers: "",
  function: "",
  service: "",
  action: "",
  input: "",
  address: "",
  rpc: "",
  tls: "",
  argv: "",
  handler: "",
  payload: "",
  when: "now",
  at: "",
  delay: "",
  cron: "",
  every: "",
  event: "",
  timezone: "",
  jitter: "",
  start: "",
  end: "",
  maxRuns: "",
  priority: "MEDIUM",
  maxRetries: "3",
  backoff: "2",
  factor: "2",
  maxBackoff: "900",
  retryJitter: true,
  timeout: "60",
  overlap: "allow",
  misfire: "run_latest",
  grace: "60",
  gap: "run_after",
  twice: "once",
  gates: "",
  startWithin: "",
  capabilities: "",
};

export const fresh = () => ({ ...EMPTY, timezone: zone.peek() });

/** A number for the API; text that is not a number stays text, so that the API says what is wrong with it. */
const number = (text) => {
  const value = String(text).trim();
  return value === "" ? undefined : Number.isFinite(Number(value)) ? Number(value) : value;
};
const listOf = (text) =>
  text
    .split(/[\n,]/)
    .map((each) => each.trim())
    .filter(Boolean);

const two = (value) => String(value).padStart(2, "0");

/** "2026-10-25T02:30:00" in the reader's zone, as a field for a local time takes it. */
function localText(time) {
  const date = new Date(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A local time as the API takes it: a browser leaves out seconds that are 0. */
const withSeconds = (text) => (/T\d\d:\d\d$/.test(text) ? `${text}:00` : text);

/** An instant of a local time in the reader's zone; text that is not a time stays as it is. */
const instant = (text) => {
  const date = new Date(text);
  return text === "" ? undefined : Number.isNaN(date.getTime()) ? text : date.toISOString();
};

function json(text, field, problems) {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    problems.push({ field, message: `is not JSON: ${error.message}` });
    return undefined;
  }
}

function tagsOf(text, problems) {
  const found = {};
  for (const each of listOf(text)) {
    const [key, ...rest] = each.split("=");
    if (!key.trim()) problems.push({ field: "tags", message: `has an entry without a key: ${each}` });
    else found[key.trim()] = rest.join("=").trim();
  }
  return found;
}

function headersOf(text, problems) {
  const found = {};
  for (const line of text
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean)) {
    const [name, ...rest] = line.split(":");
    if (!rest.length) problems.push({ field: "target.headers", message: `has a line without a colon: ${line}` });
    else found[name.trim()] = rest.join(":").trim();
  }
  return found;
}

function targetOf(f, problems) {
  const headers = f.type === "http" ? headersOf(f.headers, problems) : {};
  const by = {
    http: () => ({ type: "http", url: f.url.trim(), method: f.method, headers }),
    lambda: () => ({ type: "lambda", function: f.function.trim() }),
    aws: () => {
      const input = json(f.input, "target.input", problems);
      return {
        type: "aws",
        service: f.service.trim(),
        action: f.action.trim(),
        ...(input === undefined ? {} : { input }),
      };
    },
    grpc: () => ({
      type: "grpc",
      address: f.address.trim(),
      method: f.rpc.trim(),
      ...(f.tls === "" ? {} : { tls: f.tls === "yes" }),
    }),
    shell: () => ({ type: "shell", argv: f.argv.split("\n").filter((line) => line !== "") }),
    python: () => ({ type: "python", handler: f.handler.trim() }),
    workflow: () => null,
  };
  return by[f.type]();
}

/** All fields of the job with their values: what a change is compared by. Return {fields, problems}. */
function allFields(f) {
  const problems = [];
  const recurs = f.when === "cron" || f.when === "every";
  const fields = {
    name: f.name.trim() || null,
    description: f.description.trim() || null,
    tags: tagsOf(f.tags, problems),
    target: targetOf(f, problems),
    payload: json(f.payload, "payload", problems) ?? null,
    ...(f.when === "at" ? { at: withSeconds(f.at), timezone: f.timezone.trim() || "UTC" } : {}),
    ...(f.when === "delay" ? { delay: number(f.delay) ?? "" } : {}),
    ...(f.when === "cron"
      ? { cron: f.cron.trim(), timezone: f.timezone.trim() || "UTC", dst: { gap: f.gap, overlap: f.twice } }
      : {}),
    ...(f.when === "every" ? { every: number(f.every) ?? "" } : {}),
    ...(f.when === "event" ? { on_event: json(f.event, "on_event", problems) ?? {} } : {}),
    ...(recurs
      ? {
          jitter_seconds: number(f.jitter) ?? 0,
          start_at: instant(f.start) ?? null,
          end_at: instant(f.end) ?? null,
          max_runs: number(f.maxRuns) ?? null,
          misfire: { policy: f.misfire, grace_seconds: number(f.grace) ?? 60 },
          overlap: f.overlap,
        }
      : {}),
    priority: f.priority,
    retry: {
      max_retries: number(f.maxRetries) ?? 0,
      backoff_seconds: number(f.backoff) ?? 0,
      factor: number(f.factor) ?? 1,
      max_backoff_seconds: number(f.maxBackoff) ?? 0,
      jitter: f.retryJitter,
    },
    timeout_seconds: number(f.timeout) ?? 60,
    gates: listOf(f.gates),
    start_within_seconds: number(f.startWithin) ?? null,
    requirements: { capabilities: listOf(f.capabilities) },
  };
  return { fields, problems };
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The body of POST /v1/jobs: only what is not the default. Return {body, problems}. */
export function newJob(f) {
  const { fields, problems } = allFields(f);
  const { fields: usual } = allFields({ ...EMPTY, when: f.when, type: f.type });
  const kept = [
    "target",
    "at",
    "delay",
    "cron",
    "every",
    "on_event",
    ...(f.when === "cron" && fields.timezone !== "UTC" ? ["timezone"] : f.when === "at" ? ["timezone"] : []),
  ];
  const body = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    if (!kept.includes(name) && (same(value, usual[name]) || name === "timezone")) continue;
    body[name] = ["retry", "misfire", "dst"].includes(name)
      ? Object.fromEntries(Object.entries(value).filter(([key, each]) => !same(each, usual[name]?.[key])))
      : value;
  }
  const { target } = body;
  if (target?.type === "http") {
    delete body.target;
    const { method, headers } = target;
    if (method === "POST" && !Object.keys(headers).length) body.callback_url = target.url;
    else
      body.target = {
        type: "http",
        url: target.url,
        ...(method === "POST" ? {} : { method }),
        ...(Object.keys(headers).length ? { headers } : {}),
      };
  }
  return { body, problems };
}

/** The form of a job that exists. */
export function formOf(job) {
  const { target = {}, retry, misfire, dst } = job;
  const text = (value) => (value === null || value === undefined ? "" : String(value));
  const pretty = (value) => (value === null || value === undefined ? "" : JSON.stringify(value));
  const when = job.cron
    ? "cron"
    : job.every
      ? "every"
      : job.on_event
        ? "event"
        : job.fire_time && job.status !== "WAITING"
          ? "at"
          : "now";
  return {
    ...EMPTY,
    name: text(job.name),
    description: text(job.description),
    tags: Object.entries(job.tags ?? {})
      .map(([key, value]) => (value ? `${key}=${value}` : key))
      .join(", "),
    type: target.type,
    url: text(target.url),
    method: target.method && target.type === "http" ? target.method : "POST",
    headers: Object.entries(target.headers ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    function: text(target.function),
    service: text(target.service),
    action: text(target.action),
    input: pretty(target.input),
    address: text(target.address),
    rpc: target.type === "grpc" ? text(target.method) : "",
    tls: target.tls === undefined ? "" : target.tls ? "yes" : "no",
    argv: (target.argv ?? []).join("\n"),
    handler: text(target.handler),
    payload: pretty(job.payload),
    when,
    at: job.fire_time ? localText(job.fire_time) : "",
    cron: text(job.cron),
    every: text(job.every),
    event: pretty(job.on_event),
    timezone: job.timezone ?? (when === "at" ? zone.peek() : ""),
    jitter: job.jitter_seconds ? String(job.jitter_seconds) : "",
    start: job.start_at ? localText(job.start_at) : "",
    end: job.end_at ? localText(job.end_at) : "",
    maxRuns: text(job.max_runs),
    priority: job.priority,
    maxRetries: text(retry.max_retries),
    backoff: text(retry.backoff_seconds),
    factor: text(retry.factor),
    maxBackoff: text(retry.max_backoff_seconds),
    retryJitter: retry.jitter,
    timeout: text(job.timeout_seconds),
    overlap: job.overlap ?? "allow",
    misfire: misfire?.policy ?? "run_latest",
    grace: text(misfire?.grace_seconds ?? 60),
    gap: dst?.gap ?? "run_after",
    twice: dst?.overlap ?? "once",
    gates: (job.gates ?? []).join(", "),
    startWithin: text(job.start_within_seconds),
    capabilities: (job.requirements?.capabilities ?? []).join(", "),
  };
}

/** The body of PATCH /v1/jobs/{id}: the fields that differ. Return {body, problems, rows: [[field, before, after]]}. */
export function changes(job, before, f) {
  // A job that gets its first cron has the usual policy for changes of the clocks.
  const old = { dst: { gap: EMPTY.gap, overlap: EMPTY.twice }, ...allFields(before).fields };
  const { fields, problems } = allFields(f);
  const rows = Object.keys(fields)
    .filter((name) => !same(old[name], fields[name]))
    .map((name) => [name, old[name], fields[name]]);
  const body = Object.fromEntries(
    rows.map(([name, , value]) => [
      name,
      name === "requirements" ? { ...job.requirements, ...value } : (value ?? null),
    ]),
  );
  if ("at" in body) body.timezone = fields.timezone;
  if (!("at" in body) && f.when === "at") delete body.timezone;
  for (const name of ["retry", "misfire", "dst"]) {
    if (body[name])
      body[name] = Object.fromEntries(
        Object.entries(body[name]).filter(([key, value]) => !same(value, old[name]?.[key])),
      );
  }
  return { body, problems, rows: rows.filter(([name]) => name in body) };
}
