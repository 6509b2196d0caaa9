import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const { COPY, curl, joined, python, quoted } = await module("lib/copy_as.js");

test("texts for a shell", () => {
  assert.equal(quoted("job_1.2"), "job_1.2");
  assert.equal(quoted("a b"), "'a b'");
  assert.equal(quoted("it's $HOME"), `'it'\\''s $HOME'`);
  assert.equal(quoted(""), "''");
});

test("values for Python", () => {
  assert.equal(python(null), "None");
  assert.equal(python({ a: [true, false, 1.5, "x\"y"] }), '{"a": [True, False, 1.5, "x\\"y"]}');
});

test("curl has the address of the page before /console, and no token", () => {
  const text = curl("POST", "/v1/jobs/a/run", { payload: { name: "it's" } });
  assert.match(text, /^curl -sS -X POST https:\/\/api\.example\.com\/prod\/v1\/jobs\/a\/run \\\n/);
  assert.match(text, /"Authorization: Bearer \$ONTHEDOT_TOKEN"/);
  assert.match(text, /'\{"payload":\{"name":"it'\\''s"\}\}'$/);
  assert.doesNotMatch(curl("GET", "/v1/jobs"), /-X|-d/);
});

test("a change as a command and as Python: a field that goes away is cleared, and the version is the one that was seen", () => {
  const { cli, curl: call, python: code } = COPY.change("job_1", { cron: "0 3 * * *", end_at: null, tags: {} }, 3);
  assert.equal(cli, "onthedot change job_1 \\\n  --cron '0 3 * * *' \\\n  --clear end_at \\\n  --clear tags \\\n  --if-version 3");
  assert.equal(code, 'from onthedot import Client\nClient().change(\n    "job_1",\n    cron="0 3 * * *",\n    end_at=None,\n    tags={},\n    if_version=3,\n)');
  assert.match(call, /-H 'If-Match: 3'/);
});

test("the parts of a field are options of their own", () => {
  const { cli, python: code } = COPY.change("job_1", { misfire: { policy: "skip", grace_seconds: 5 }, retry: { factor: 1.5, jitter: false } }, 3);
  assert.equal(cli, "onthedot change job_1 \\\n  --misfire skip \\\n  --misfire-grace 5s \\\n  --backoff-factor 1.5 \\\n  --backoff-jitter off \\\n  --if-version 3");
  assert.match(code, /misfire=\{"policy": "skip", "grace_seconds": 5\}/);
});

test("requirements replace all others, so none of them is named", () => {
  assert.equal(COPY.change("job_1", { requirements: { capabilities: [], cpu: 2, memory_mb: 0 } }).cli, "onthedot change job_1 \\\n  --cpu 2");
  assert.equal(COPY.change("job_1", { requirements: { capabilities: [], cpu: 0, memory_mb: 0 } }).cli, "onthedot change job_1 \\\n  --clear requirements");
});

test("a gate without limits has a command too", () => {
  assert.equal(COPY.gate("open", { in_flight: null, paused: false }).cli, "onthedot gates set open --no-limits");
});

test("several calls are one after the other, with one import", () => {
  const all = joined([COPY.redrive({ from: "2026-03-01T00:00:00Z", cause: "HTTP 503" }), COPY.redrive({ ids: ["job_1"] })]);
  assert.deepEqual(all.cli.split("\n"), ["onthedot redrive --since 2026-03-01T00:00:00Z --cause 'HTTP 503'", "onthedot redrive job_1"]);
  assert.equal(all.python.match(/import/g).length, 1);
  assert.equal(all.python.split("\n").length, 3);
  assert.equal(all.curl.match(/curl -sS/g).length, 2);
});
