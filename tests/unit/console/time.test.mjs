import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const time = await module("lib/time.js");

const DURATIONS = [
  [0, "0 ms"], [7.4, "7 ms"], [999, "999 ms"], [1000, "1 s"], [1400, "1.4 s"], [9_960, "10.0 s"], [18_000, "18 s"], [60_000, "1 min"],
  [138_000, "2 min 18 s"], [3_600_000, "1 h"], [43_020_000, "11 h 57 min"], [147_600_000, "1 d 17 h"], [3_605_000, "1 h"], [-138_000, "2 min 18 s"], [NaN, "–"],
];
for (const [span, text] of DURATIONS) test(`duration ${span}`, () => assert.equal(time.duration(span), text));

test("one unit", () => assert.equal(time.duration(138_000, { units: 1 }), "2 min"));

test("relative times", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const told = (seconds) => time.relative(now + seconds * 1000, now);
  assert.equal(told(0.4), "now");
  assert.equal(told(43_020), "in 11 h 57 min");
  assert.equal(told(-18), "18 s ago");
  assert.equal(told(-500), "8 min ago");
  assert.equal(told(-3_720), "1 h 2 min ago");
  assert.equal(time.relative("no time", now), "–");
});

test("clocks and days in the reader's zone, Europe/Berlin here, and in UTC", () => {
  assert.equal(time.zone.value, "Europe/Berlin");
  assert.equal(time.clock("2026-03-29T00:59:59Z"), "01:59:59");
  assert.equal(time.clock("2026-03-29T01:00:00Z"), "03:00:00", "the hour that does not exist is jumped over");
  assert.equal(time.clock("2026-10-25T00:30:00Z", { seconds: false }), "02:30");
  assert.equal(time.clock("2026-10-25T01:30:00Z", { seconds: false }), "02:30", "the hour that comes twice");
  assert.equal(time.moment("2020-12-31T23:30:00Z"), "Fri 1 Jan 2021 00:30:00");
  assert.equal(time.moment("no time"), "–");
  assert.equal(time.utcText("2026-10-25T00:30:00.123Z"), "2026-10-25 00:30:00 UTC");
  time.toggleUtc();
  assert.equal(time.clock("2026-03-29T01:00:00Z"), "01:00:00");
  time.toggleUtc();
});

test("the clock of the server counts, unless it differs by delay alone", (t) => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  t.mock.method(Date, "now", () => now);
  time.learnClock(now + 500);
  assert.equal(time.nowMs(), now);
  time.learnClock(now + 3_600_000);
  assert.equal(time.nowMs(), now + 3_600_000);
});
