// BullMQ on Redis: `node bullmq_program.cjs client`, or `node bullmq_program.cjs worker CONCURRENCY`.
// The client's protocol and the notes are those of calls.py.
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const { Queue, Worker } = require("bullmq");

const store = new URL(process.env.PEERS_STORE);
const connection = { host: store.hostname, port: Number(store.port), maxRetriesPerRequest: null };
const NOW = 0;

function note({ number, due }) {
  // Date.now() is cut to the millisecond, and a due time is a whole millisecond: an early run stays visible.
  const at = Date.now() * 1000;
  const line = [[number, 10], [due, 13], [at, 16]].map(([value, width]) => String(value).padStart(width, "0"));
  fs.writeSync(notes(), line.join(" ") + "\n");
}

let opened;
function notes() {
  opened ??= fs.openSync(process.env.PEERS_NOTES, "a", 0o666);
  return opened;
}

async function createSome(queue, remaining) {
  for (const [number, due] of remaining) {
    const options = due === NOW ? {} : { delay: Math.max(due - Date.now(), 0) };
    await queue.add("noop", { number, due }, options);
  }
}

async function createAll(queue, { first, due, callers }) {
  const remaining = due.map((at, index) => [first + index, at])[Symbol.iterator]();
  const began = Date.now();
  const spent = process.cpuUsage();
  await Promise.all(Array.from({ length: callers }, () => createSome(queue, remaining)));
  const { user, system } = process.cpuUsage(spent);
  return { began: began / 1000, ended: Date.now() / 1000, cpu_ms: (user + system) / 1000 };
}

async function client() {
  const queue = new Queue("peers", { connection });
  await queue.waitUntilReady();
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await createAll(queue, JSON.parse(line))));
  }
  await queue.close();
}

function worker(concurrency) {
  const running = new Worker("peers", async (job) => note(job.data), { connection, concurrency });
  running.on("error", (error) => console.error(error));
  process.on("SIGTERM", () => running.close().then(() => process.exit(0)));
}

const [role, concurrency] = process.argv.slice(2);
if (role === "worker") worker(Number(concurrency));
else client();
