import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "../src/core/commands.ts";
import { count, size } from "../src/core/numbers.ts";
import { duration, iso, relative, since, utc } from "../src/core/times.ts";
import { nextRow, windowOf } from "../src/core/windowing.ts";

test("durations have the precision that their length needs", () => {
  const cases: [number, string][] = [[-5, "0 s"], [0, "0 s"], [0.85, "850 ms"], [3.21, "3.2 s"], [12.3, "12 s"], [59.6, "1m 00s"], [245, "4m 05s"], [7980, "2h 13m"], [273600, "3d 4h"], [Number.NaN, "unknown"]];
  for (const [seconds, text] of cases) assert.equal(duration(seconds), text);
});

test("moments of a wrong clock or a hostile object are unknown", () => {
  assert.equal(utc(1e30), "unknown");
  assert.equal(iso(Number.NaN), "");
  assert.equal(utc(1795645697), "2026-11-25 22:28:17 UTC");
});

test("relative times tell the direction", () => {
  assert.deepEqual([relative(100, 345), relative(345, 100), relative(5, 5)], ["4m 05s ago", "in 4m 05s", "now"]);
});

test("time filters are ages or dates", () => {
  assert.equal(since("24h", 100_000), 13_600);
  assert.equal(since("2026-11-25T00:00:00Z", 0), 1795564800);
  assert.equal(since("yesterday-ish", 0), null);
});

test("counts are grouped, sizes scaled", () => {
  assert.deepEqual([count(10000), size(512), size(1536), size(8 * 1024 * 1024)], ["10,000", "512 B", "1.5 KiB", "8.0 MiB"]);
});

test("a window has the rows in sight and some around them", () => {
  assert.deepEqual(windowOf(3000, 600, 30, 10_000, 5), { first: 95, last: 125 });
  assert.deepEqual(windowOf(0, 600, 30, 3, 5), { first: 0, last: 3 });
  assert.deepEqual(windowOf(9000, 600, 30, 0, 5), { first: 0, last: 0 });
});

test("keys move within the rows", () => {
  assert.deepEqual(["ArrowDown", "End", "Home", "PageDown", "x"].map((key) => nextRow(key, 5, 10, 20)), [6, 9, 0, 9, null]);
  assert.equal(nextRow("ArrowDown", 0, 0, 20), null);
});

test("the palette prefers matches at the start of words", () => {
  const titles = ["Theme: Dark", "Runs", "trunk"];
  const best = titles.filter((title) => rank(title, "run") !== null).sort((a, b) => (rank(a, "run") ?? 0) - (rank(b, "run") ?? 0));
  assert.deepEqual(best, ["Runs", "trunk"]);
});
