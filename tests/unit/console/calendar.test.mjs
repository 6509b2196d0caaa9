import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const { clockChange, minutesOfDay, rowsOf } = await module("views/schedule/calendar.js");
const MINUTE = 60_000;

/** The rows of so many minutes from a time on, each with one run: hour, whether it has the letters of its zone, isTwice, runs. */
function rows(start, count, zone) {
  const minutes = Array.from({ length: count }, (_, n) => ({ time: new Date(start + n * MINUTE).toISOString(), runs: 1 }));
  return rowsOf(minutes, zone).map((row) => [row.hour, Boolean(row.letters), row.isTwice, row.runs]);
}

const DAYS = [
  ["2026-10-24T12:00Z", 1500, 25, [["02:00", true, true, 60], ["02:00", true, true, 60]]],
  ["2026-03-28T12:00Z", 1380, 23, []],
  ["2026-06-10T12:00Z", 1440, 24, [["02:00", false, false, 60]]],
];
for (const [start, minutes, hours, atTwo] of DAYS)
  test(`the day from noon to noon after ${start} has ${hours} hours`, () => {
    const begin = Date.parse(start);
    assert.equal(minutesOfDay(clockChange(begin, "Europe/Berlin")), minutes);
    const found = rows(begin, minutes, "Europe/Berlin");
    assert.equal(found.length, hours);
    assert.deepEqual(found.filter(([hour]) => hour === "02:00"), atTwo);
  });

test("hours of a zone at half past begin at its own full hours", () => {
  const found = rows(Date.parse("2026-06-10T12:00Z"), 60, "Asia/Kolkata");
  assert.deepEqual(found.map(([hour, , , runs]) => [hour, runs]), [["17:00", 30], ["18:00", 30]]);
});
