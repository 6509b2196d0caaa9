// Print the forms of every action, as JSON, for a test that checks them against the real command line and client.
// The standard input has the API's description, and more cases: {document, create: [[fields]], change: [[id, fields, version]]}.
import { readFileSync } from "node:fs";
import { module } from "./browser.mjs";

const { COPY, formsOf } = await module("lib/copy_as.js");
const { EMPTY, changes, formOf, newJob } = await module("views/new/model.js");
const ID = "job_aaaaaaaaaaaaaaaaaaaaaaaaaa";
const RUNS = [ID, `${ID}.001794975018269`];
const FILTER = { from: "2026-03-01T12:00:00.000Z", to: "2026-03-02T00:00:00.000Z", name: "o'neil report", job_id: ID, cause: "it's \"HTTP\" 503" };
const NOTHING = { cpu: 0, memory_mb: 0, storage_mb: 0 };
const [TIMES, HTTP] = [{ cron: "30 2 * * *", timezone: "Europe/Berlin" }, { callback_url: "https://example.com/hook" }];

/** What people fill in: all that a form has besides its target and its time. */
const HOW = {
  name: "report", description: "two\nlines", tags: "team=core, pci", payload: '{"a": "$.b"}', jitter: "30", start: "2027-03-01T12:00", end: "2028-03-01T12:00", maxRuns: "7", priority: "LOW", maxRetries: "0", backoff: "0.5", factor: "1.5", maxBackoff: "60", retryJitter: false,
  timeout: "30", overlap: "queue", misfire: "run_all", grace: "5", gap: "skip", twice: "twice", gates: "stripe, customer:42", startWithin: "600", capabilities: "gpu, eu",
};
const FORMS = [
  { url: "https://example.com", when: "at", at: "2027-03-01T12:00", timezone: "Europe/Berlin" }, { url: "https://example.com", when: "at", at: "2027-03-01T12:00" },
  { url: "https://example.com", method: "PUT", headers: "X-Team: a: b", when: "cron", cron: "30 2 * * *", timezone: "Europe/Berlin", ...HOW }, { type: "python", handler: "send-email", when: "every", every: "90", ...HOW },
  { type: "shell", argv: "echo\na b", when: "every", every: "rate(5 minutes)", ...HOW }, { type: "grpc", address: "a.example.com:443", rpc: "a.B/C", tls: "no", when: "event", event: '{"source": ["a"]}' }, { type: "lambda", function: "report", when: "delay", delay: "1.5" },
].map((each) => ({ ...EMPTY, ...each }));
const OLD = { job_id: ID, version: 2, name: "old", tags: {}, target: { type: "http", url: "https://example.com/old", method: "POST", headers: {} }, payload: null, priority: "MEDIUM", retry: { max_retries: 3, backoff_seconds: 2, factor: 2, max_backoff_seconds: 900, jitter: true }, timeout_seconds: 60, requirements: { capabilities: [], cpu: 2, memory_mb: 0, storage_mb: 0 }, gates: ["crm"] };
const OLDS = { at: { ...OLD, fire_time: "2027-01-01T00:00:00.000Z" }, cron: { ...OLD, cron: "0 6 * * *", timezone: "UTC", dst: { gap: "run_after", overlap: "once" }, misfire: { policy: "run_latest", grace_seconds: 60 }, overlap: "allow", jitter_seconds: 0, start_at: null, end_at: null, max_runs: null }, event: { ...OLD, on_event: { source: ["b"] } } };
const oldOf = ({ when }) => OLDS[when === "delay" ? "at" : when === "every" ? "cron" : when];

const CASES = {
  get: [[ID]], explain: [[ID]], pause: [[ID]], resume: [[ID]], cancel: [[ID]], delete: [[ID]],
  run: [[ID], [ID, { order: 1, note: "it's \"new\" $HOME" }]],
  change: [
    [ID, { cron: "0 3 * * *", name: null }], [ID, { name: "x" }, 3], [ID, { every: 90, jitter_seconds: 0, end_at: null, max_runs: 7, overlap: "skip" }, 2],
    [ID, { description: "it's \"new\" $HOME", payload: null, tags: {}, gates: [], start_within_seconds: null, requirements: { capabilities: [], ...NOTHING } }, 12],
    [ID, { tags: { team: "core", free: "" }, gates: ["stripe", "crm"], requirements: { capabilities: ["gpu"], ...NOTHING }, payload: { a: [true, null] } }],
    [ID, { at: "2027-03-01T12:00:00", timezone: "Europe/Berlin", retry: { max_retries: 5 }, timeout_seconds: 30, priority: "HIGH" }, 1], [ID, { delay: 90, target: { type: "python", handler: "send-email" } }, 1],
    [ID, { target: { type: "http", url: "https://example.com/?a=b", method: "PUT", headers: { "X-Team": "a: b" } } }, 1], [ID, { target: { type: "shell", argv: ["echo", "a b"] }, on_event: { source: ["a"] } }, 1],
    [ID, { callback_url: "https://example.com/hook", start_at: "2027-03-01T12:00:00.000Z" }], [ID, { retry: { backoff_seconds: 5 } }, 1], [ID, { requirements: { capabilities: [], ...NOTHING, cpu: 2 } }, 1], [ID, { dst: { gap: "skip" }, misfire: { policy: "skip" } }, 1],
    [ID, { misfire: { policy: "run_all", grace_seconds: 5 }, dst: { overlap: "twice" }, retry: { max_retries: 0, backoff_seconds: 0.5, factor: 1.5, max_backoff_seconds: 60, jitter: false }, requirements: { capabilities: ["gpu", "a b"], cpu: 0.5, memory_mb: 512, storage_mb: 0 } }, 4],
  ],
  create: [
    [{ name: "first-dot", delay: 5, ...HTTP }], [{ name: "two words", every: 30, ...HTTP, priority: "HIGH" }], [{ ...TIMES, target: { type: "http", url: "https://example.com" }, payload: { a: [true, null] } }],
    [{ at: "2026-03-01T12:00:00Z", target: { type: "python", handler: "send-email" } }], [{ ...TIMES, target: { type: "lambda", function: "report" } }], [{ ...TIMES, ...HTTP, tags: { team: "core" }, gates: ["stripe"] }],
  ],
  bulk: [[{ action: "pause", ids: RUNS.slice(0, 1) }], [{ action: "cancel", filter: { status: "ACTIVE", name: "a" } }]],
  redrive: [[{ ids: RUNS }], [{ all: true }], [FILTER], [{ job_id: ID }]],
  gate: [["stripe", { in_flight: 2, per_second: 10, burst: 5 }], ["crm", { in_flight: 5, paused: true }], ["a key:1", { in_flight: null, per_second: 0.5 }], ["crm", { in_flight: 5, paused: true }, "pause"], ["crm", { in_flight: 5, paused: false }, "resume"], ["open", { paused: false }]],
  showGate: [["stripe"], ["customer:42"]], deleteGate: [["stripe"], ["a b"]],
  forecast: [[1440]], workflow: [[ID]], startWorkflow: [[]],
};

CASES.create.push(...FORMS.map((form) => [newJob(form).body]));
CASES.change.push(...FORMS.map((form) => [ID, changes(oldOf(form), formOf(oldOf(form)), form).body, OLD.version]));
const { document: description, ...typed } = JSON.parse(readFileSync(0, "utf8"));
for (const [name, more] of Object.entries(typed)) CASES[name].push(...more);

const missing = Object.keys(COPY).filter((name) => !CASES[name]);
const told = Object.entries(CASES).flatMap(([name, cases]) => cases.map((given, number) => ({ name: `${name} ${number + 1}`, ...formsOf(COPY[name](...given), description) })));
told.push({ name: "joined", ...formsOf([COPY.redrive(FILTER), COPY.redrive({ ids: RUNS })], description) });
console.log(JSON.stringify({ missing, told }));
