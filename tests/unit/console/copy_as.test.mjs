import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { module } from "./browser.mjs";

const { COPY, describe, description, formsOf, python, quoted } = await module("lib/copy_as.js");
/** The description of the API, which the test in Python writes. */
const known = JSON.parse(readFileSync(process.env.OPENAPI, "utf8"));
const forms = (calls) => formsOf(calls, known);

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
  const { curl } = forms(COPY.run("a", { name: "it's" }));
  assert.match(curl, /^curl -sS -X POST https:\/\/api\.example\.com\/prod\/v1\/jobs\/a\/run \\\n/);
  assert.match(curl, /"Authorization: Bearer \$ONTHEDOT_TOKEN"/);
  assert.match(curl, /'\{"payload":\{"name":"it'\\''s"\}\}'$/);
  assert.doesNotMatch(forms(COPY.get("a")).curl, /-X|-d/);
});

test("without the description of the API, only curl is known", () => {
  assert.deepEqual(Object.keys(formsOf(COPY.pause("a"), null)), ["curl"]);
});

test("the description is read once; after a failure, the next call tries again", async (t) => {
  const answers = [new Error("offline"), { ok: false }, { ok: true, json: async () => known }];
  const fetched = t.mock.method(globalThis, "fetch", async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  for (const found of [null, null, known, known]) {
    assert.equal(await describe(), found);
    assert.equal(description.value, found);
  }
  assert.equal(fetched.mock.callCount(), 3);
  assert.equal(fetched.mock.calls[0].arguments[0], "https://api.example.com/prod/openapi.json");
});

test("a change as a command and as Python: a field that goes away is cleared, and the version is the one that was seen", () => {
  const { cli, curl: call, python: code } = forms(COPY.change("job_1", { cron: "0 3 * * *", end_at: null, tags: {} }, 3));
  assert.equal(cli, "onthedot change job_1 \\\n  --cron '0 3 * * *' \\\n  --clear end_at \\\n  --clear tags \\\n  --if-version 3");
  assert.equal(code, 'from onthedot import Client\nClient().change(\n    "job_1",\n    cron="0 3 * * *",\n    end_at=None,\n    tags={},\n    if_version=3,\n)');
  assert.match(call, /-H 'If-Match: 3'/);
});

test("the parts of a field are options of their own", () => {
  const { cli, python: code } = forms(COPY.change("job_1", { misfire: { policy: "skip", grace_seconds: 5 }, retry: { factor: 1.5, jitter: false } }, 3));
  assert.equal(cli, "onthedot change job_1 \\\n  --misfire skip \\\n  --misfire-grace 5s \\\n  --backoff-factor 1.5 \\\n  --backoff-jitter off \\\n  --if-version 3");
  assert.match(code, /misfire=\{"policy": "skip", "grace_seconds": 5\}/);
});

test("requirements replace all others, so none of them is named", () => {
  assert.equal(forms(COPY.change("job_1", { requirements: { capabilities: [], cpu: 2, memory_mb: 0 } })).cli, "onthedot change job_1 --cpu 2");
  assert.equal(forms(COPY.change("job_1", { requirements: { capabilities: [], cpu: 0, memory_mb: 0 } })).cli, "onthedot change job_1 --clear requirements");
});

test("a gate without limits has a command too", () => {
  assert.equal(forms(COPY.gate("open", { in_flight: null, paused: false })).cli, "onthedot gates set open --no-limits");
});

test("several calls are one after the other, with one import", () => {
  const all = forms([COPY.redrive({ from: "2026-03-01T00:00:00Z", cause: "HTTP 503" }), COPY.redrive({ ids: ["job_1"] })]);
  assert.deepEqual(all.cli.split("\n"), ["onthedot redrive --since 2026-03-01T00:00:00Z --cause 'HTTP 503'", "onthedot redrive job_1"]);
  assert.equal(all.python.match(/import/g).length, 1);
  assert.equal(all.python.split("\n").length, 3);
  assert.equal(all.curl.match(/curl -sS/g).length, 2);
});

test("all dead letters are named as such: without a word of it, both would refuse", () => {
  const { cli, python: code } = forms(COPY.redrive({ all: true }));
  assert.equal(cli, "onthedot redrive --all");
  assert.match(code, /redrive\(everything=True\)$/);
});
