import assert from "node:assert/strict";
import { test } from "node:test";

import { buildCalendar } from "../src/views/schedules/calendar.ts";

const day = (name: string, counts: object = {}) => ({ day: name, ok: 0, failed: 0, missed: 0, skipped: 0, ...counts });

test("the last week of the calendar ends with today", () => {
  const calendar = buildCalendar([], "2026-11-25", 4);
  assert.equal(calendar.cells[0]?.day, "2026-11-02");
  assert.deepEqual([calendar.cells.at(-1)?.day, calendar.cells.at(-1)?.weekday, calendar.cells.at(-1)?.week], ["2026-11-25", 2, 3]);
  assert.equal(calendar.cells.length, 24);
});

test("a day shows the worst that happened and how much ran", () => {
  const days = [day("2026-11-23", { ok: 8 }), day("2026-11-24", { ok: 1, failed: 1 }), day("2026-11-25", { missed: 1, ok: 1 })];
  const cells = buildCalendar(days, "2026-11-25", 1).cells;
  assert.deepEqual(cells.map((cell) => [cell.worst, cell.level]), [["ok", 4], ["failed", 1], ["missed", 1]]);
});

test("months begin where their first day is", () => {
  assert.deepEqual(buildCalendar([], "2026-12-03", 2).months, [{ week: 1, day: "2026-12-01" }]);
});
