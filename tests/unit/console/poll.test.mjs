import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const { ApiError } = await module("lib/api.js");
const { poll } = await module("lib/poll.js");
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A poll of answers that the test gives: `calls` are the reads, `told` what was shown. */
function started(t) {
  const [calls, told] = [[], []];
  const read = (options) => new Promise((answer, refuse) => calls.push({ ...options, refuse, answer: (data, etag = null) => answer({ status: data === null ? 304 : 200, data, etag }) }));
  const handle = poll(read, 5000, (state) => told.push(state));
  t.after(handle.stop);
  return { calls, told, ...handle };
}

test("a refresh does not take the answer of a read that began before it", async (t) => {
  const { calls, told, refresh } = started(t);
  refresh();
  assert.equal(calls.length, 2);
  assert.ok(calls[0].signal.aborted);
  calls[0].answer("old");
  calls[1].answer("new");
  await turn();
  assert.deepEqual(told.map(({ data }) => data), ["new"]);
});

test("parts are shown until the first whole answer, and stay when the rest fails", async (t) => {
  const { calls, told, refresh } = started(t);
  calls[0].part("part");
  calls[0].refuse(new ApiError(503, "busy", "Later."));
  await turn();
  assert.deepEqual(told.map(({ data, error }) => [data, error?.status]), [["part", undefined], ["part", 503]]);
  refresh();
  calls[1].answer("whole");
  await turn();
  refresh();
  calls[2].part("again");
  assert.equal(told.at(-1).data, "whole");
});

test("an answer that did not change is not told again, unless it ends an error", async (t) => {
  const { calls, told, refresh } = started(t);
  calls[0].answer("data", '"1"');
  await turn();
  refresh();
  assert.equal(calls[1].etag, '"1"');
  calls[1].answer(null);
  await turn();
  assert.equal(told.length, 1);
  refresh();
  calls[2].refuse(new Error("gone"));
  await turn();
  refresh();
  calls[3].answer(null);
  await turn();
  assert.deepEqual(told.slice(1).map(({ data, error }) => [data, error?.message]), [["data", "gone"], ["data", undefined]]);
});

test("a poll that was stopped tells nothing, and a refused token ends it", async (t) => {
  const { calls, told, stop } = started(t);
  calls[0].refuse(new ApiError(401, "unauthorized", "No."));
  await turn();
  assert.equal(told[0].nextTry, null);
  stop();
  assert.equal(told.length, 1);
});
