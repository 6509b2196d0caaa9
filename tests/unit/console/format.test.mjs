import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const format = await module("lib/format.js");

const CASES = {
  count: [[0, "0"], [12_322, "12,322"], [null, "–"], [undefined, "–"]],
  compact: [[999, "999"], [1000, "1k"], [3_140, "3.1k"], [31_400, "31k"], [1_200_000, "1.2M"], [2e9, "2G"], [NaN, "–"]],
  rate: [[0, "0"], [0.034, "0.03"], [3.42, "3.4"], [14.25, "14.3"], [142.2, "142"], [null, "–"]],
  percent: [[1, "100"], [0, "0"], [0.99754, "99.75"], [0.999999, "99.99"], [0.0000001, "0.01"], [NaN, "–"]],
  bytes: [[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KB"], [2 ** 30, "1 GB"], [null, "–"]],
  word: [["RUNNING", "Running"], ["NOT_FOUND", "Not found"], [null, "–"]],
  shortId: [["job_c2dkw7abcdef", "job_c2dkw7…"], ["short", "short"], [null, ""]],
};
for (const [name, cases] of Object.entries(CASES)) for (const [given, text] of cases) test(`${name}(${given})`, () => assert.equal(format[name](given), text));

test("plural", () => {
  assert.equal(format.plural(1, "run"), "1 run");
  assert.equal(format.plural(0, "run"), "0 runs");
  assert.equal(format.plural(1200, "retry", "retries"), "1,200 retries");
});
