import assert from "node:assert/strict";
import { test } from "node:test";
import type { Interval, Task } from "../src/contract.ts";
import { emptyColumns, Instances } from "../src/core/instances.ts";
import { density } from "../src/views/timeline/density.ts";
import { upTo } from "../src/views/timeline/occupancy.ts";
import { overlayOf } from "../src/views/timeline/overlay.ts";
import { buildRows, comparePaths, type RowOptions } from "../src/views/timeline/rows.ts";
import { clamp, pan, ticks, whole, zoom } from "../src/views/timeline/time_window.ts";

const task = (name: string, mapped: boolean): Task => ({ name, kind: "python", state: "Running", tone: "run", details: [], groups: [], hook: "", mapped, progress: "", counts: {}, total: 1, displayName: "" });

function world(): Instances {
  const instances = new Instances(emptyColumns());
  const interval = (start: number, end: number | null): Interval[] => [["running", start, end, "", 1, 0, 0, ""]];
  instances.merge({
    key: ["load/10", "load/2", "list"], task: ["load", "load", "list"], label: ["load/10 eu", "load/2 us", "list"], tone: ["bad", "run", "ok"],
    started: [10, 5, 0], ended: [30, null, 4], duration: [20, null, 4], intervals: [interval(10, 30), interval(5, null), interval(0, 4)],
  });
  return instances;
}

const options = (changed: Partial<RowOptions> = {}): RowOptions => ({ text: "", order: "task", which: "all", unfolded: () => true, now: 100, ...changed });
const keys = (changed: Partial<RowOptions> = {}): string[] => buildRows(world(), [task("list", false), task("load", true)], options(changed)).map((row) => `${row.kind} ${row.key}`);

test("rows follow the order of tasks, and instances that of their paths", () => {
  assert.deepEqual(keys(), ["instance list", "group load", "instance load/2", "instance load/10"]);
});

test("a folded group hides its instances", () => {
  assert.deepEqual(keys({ unfolded: () => false }), ["instance list", "group load"]);
});

test("rows in another order have no groups", () => {
  assert.deepEqual(keys({ order: "start" }), ["instance list", "instance load/2", "instance load/10"]);
  assert.deepEqual(keys({ order: "duration" }), ["instance load/2", "instance load/10", "instance list"]);
});

test("filters leave out rows, and groups without rows", () => {
  assert.deepEqual(keys({ which: "bad" }), ["group load", "instance load/10"]);
  assert.deepEqual(keys({ which: "open" }), ["group load", "instance load/2"]);
  assert.deepEqual(keys({ which: "waiting" }), []);
  assert.deepEqual(keys({ text: "LIS" }), ["instance list"]);
});

test("paths compare as numbers at each level", () => {
  assert.ok(comparePaths([2], [10]) < 0);
  assert.ok(comparePaths([1, 9], [1, 10]) < 0);
  assert.ok(comparePaths([1], [1, 0]) < 0);
  assert.equal(comparePaths([1], [1]), 0);
});

test("zoom keeps the moment under the pointer at its place", () => {
  const limits = { from: 0, to: 1000 };
  const near = zoom({ from: 0, to: 1000 }, 0.5, 250, limits);
  assert.deepEqual(near, { from: 125, to: 625 });
  assert.equal((250 - near.from) / (near.to - near.from), 0.25);
});

test("a window stays within the run and is at least a second long", () => {
  const limits = { from: 0, to: 1000 };
  assert.deepEqual(zoom(limits, 5, 500, limits), limits);
  assert.deepEqual(pan({ from: 0, to: 100 }, -50, limits), { from: 0, to: 100 });
  assert.deepEqual(pan({ from: 900, to: 1000 }, 50, limits), { from: 900, to: 1000 });
  const shortest = clamp({ from: 10, to: 10 }, limits);
  assert.equal(shortest.to - shortest.from, 1);
});

test("a run without length has a window with length", () => {
  const window = whole(100, 100);
  assert.ok(window.to > window.from);
});

test("ticks are at round times of the zone of the viewer", () => {
  assert.deepEqual(ticks({ from: 10, to: 3700 }, 4, 0), [1800, 3600]);
  assert.deepEqual(ticks({ from: 0, to: 86400 }, 2, 1800), [41400, 84600]);
  assert.ok(ticks({ from: 0, to: 1e12 }, 10, 0).length <= 500);
});

test("a folded group counts pods and waits over time", () => {
  const rows: Interval[][] = [[["running", 0, 50, "", 1, 0, 0, ""], ["waiting", 50, null, "", 1, 0, 0, ""]], [["running", 0, 100, "", 1, 0, 0, ""]]];
  const counted = density(rows, { from: 0, to: 100 }, 4, 100);
  assert.deepEqual([...counted.pods].slice(0, 4), [2, 2, 1, 1]);
  assert.deepEqual([...counted.waits].slice(0, 4), [0, 0, 1, 1]);
  assert.equal(counted.most, 2);
});

test("intervals outside the window count nowhere", () => {
  const counted = density([[["running", -50, -10, "", 1, 0, 0, ""], ["running", 200, 300, "", 1, 0, 0, ""]]], { from: 0, to: 100 }, 4, 300);
  assert.equal(counted.most, 0);
});

test("pods and waits of a run that goes on hold until now", () => {
  const steps = { t: [0, 10, 20], pods: [1, 2, 0], waits: [0, 3, 0] };
  assert.deepEqual(upTo(steps, 25), { t: [0, 10, 25], pods: [1, 2, 2], waits: [0, 3, 3] });
  assert.equal(upTo(steps, null), steps);
});

test("a run without a start begins with its first interval", () => {
  const rows = [{ key: "a", label: "a", task: "a", intervals: [["running", 30, 40, "", 1, 0, 0, ""]] as Interval[] }, { key: "b", label: "b", task: "b", intervals: [] }];
  const overlay = overlayOf({ start: null, end: 50, rows }, "live/ns/before");
  assert.deepEqual([overlay.name, overlay.start, overlay.length], ["before", 30, 20]);
});
