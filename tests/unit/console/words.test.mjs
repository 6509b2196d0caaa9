import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./browser.mjs";

const { cronWords, everyWords, listed, scheduleWords, targetWords } = await module("lib/words.js");

const CRONS = {
  "30 2 * * *": "At 02:30 every day",
  "* * * * *": "Every minute",
  "*/5 * * * *": "Every 5 minutes",
  "0 * * * *": "Every hour",
  "7 * * * *": "7 min past every hour",
  "0 */6 * * *": "Every 6 hours",
  "0 9,17 * * *": "At 09:00 and 17:00 every day",
  "0 9 * * 1-5": "At 09:00 Monday to Friday",
  "0 9 * * mon,wed,7": "At 09:00 on Monday, Wednesday and Sunday",
  "0 0 1 * *": "At 00:00 on day 1 of the month",
  "0 0 L * *": "At 00:00 on the last day of the month",
  "0 8 * * 1#2": "At 08:00 on the second Monday of the month",
  "0 8 * * 5L": "At 08:00 on the last Friday of the month",
  "0 0 1 jan,7 *": "At 00:00 on day 1 of the month, in January and July",
  "*/15 9-17 * * *": "Every 15 minutes from 09:00 to 17:59",
  "@daily": "At 00:00 every day",
  "  0   3 * * * ": "At 03:00 every day",
};
for (const [expression, words] of Object.entries(CRONS)) test(`cron ${expression}`, () => assert.equal(cronWords(expression), words));

const UNSAID = ["*/7 * * * *", "0 0 13 * 5", "0 0 1-7 * *", "cron(0 9 * * ? *)", "0 9 * *", "1,2 3-5 * * *", "0 0 * * xyz"];
for (const expression of UNSAID) test(`cron ${expression} stays an expression`, () => assert.equal(cronWords(expression), expression));

test("intervals", () => {
  assert.equal(everyWords(30), "Every 30 seconds");
  assert.equal(everyWords(60), "Every minute");
  assert.equal(everyWords(5400), "Every 90 minutes");
  assert.equal(everyWords(86_400), "Every day");
  assert.equal(everyWords("rate(5 minutes)"), "rate(5 minutes)");
});

test("a schedule of each kind", () => {
  assert.equal(scheduleWords({ cron: "0 6 * * *" }), "At 06:00 every day");
  assert.equal(scheduleWords({ every: 12 }), "Every 12 seconds");
  assert.equal(scheduleWords({ kind: "event" }), "On an event");
  assert.equal(scheduleWords({ dependencies: ["a", "b"] }), "After 2 jobs");
  assert.equal(scheduleWords({ at: "2020-10-25T12:30:00Z" }), "Once, at Sun 25 Oct 2020 13:30:00");
  assert.equal(scheduleWords({}), "Once");
});

test("lists and targets", () => {
  assert.equal(listed([]), "");
  assert.equal(listed(["a"]), "a");
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
  assert.equal(targetWords({ type: "http", url: "https://a.example/b" }), "POST https://a.example/b");
  assert.equal(targetWords({ type: "shell", argv: ["ls", "-l"] }), "shell ls -l");
  assert.equal(targetWords({ type: "grpc", address: "h:1", method: "s/M" }), "grpc h:1 s/M");
  assert.equal(targetWords("python send"), "python send");
  assert.equal(targetWords(null), "–");
});
