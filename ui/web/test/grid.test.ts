import assert from "node:assert/strict";
import { test } from "node:test";

import type { InstanceColumns } from "../src/contract.ts";
import { countStates, filterRows, NO_FILTER, parseSeconds } from "../src/views/grid/filter.ts";

const columns = {
  key: ["load/0", "load/1", "load/2", "report"],
  task: ["load", "load", "load", "report"],
  label: ["load [0]", "load [1]", "load [2]", "report"],
  state: ["Succeeded", "Failed", "Running", "Pending"],
  reason: ["", "ExitCode", "", ""],
  message: ["", "Division by zero", "", ""],
  node: ["n1", "n2", "n2", null],
  pod: ["p0", "p1", "p2", null],
  duration: [10, 400, null, null],
  started: [30, 10, 20, null],
} as unknown as InstanceColumns;
const rows = (filter: object, sort = null as Parameters<typeof filterRows>[2]): number[] =>
  [...filterRows(columns, { ...NO_FILTER, ...filter }, sort)];

test("rows are filtered by state, node, duration, task and text at once", () => {
  assert.deepEqual(rows({}), [0, 1, 2, 3]);
  assert.deepEqual(rows({ states: new Set(["Failed", "Running"]) }), [1, 2]);
  assert.deepEqual(rows({ node: "n2" }), [1, 2]);
  assert.deepEqual(rows({ longerThan: 60 }), [1]);
  assert.deepEqual(rows({ task: "report" }), [3]);
  assert.deepEqual(rows({ text: "ZERO load" }), [1]);
  assert.deepEqual(rows({ text: "zero", node: "n1" }), []);
});

test("rows without a value come last in both directions", () => {
  assert.deepEqual(rows({}, { column: "started", down: false }), [1, 2, 0, 3]);
  assert.deepEqual(rows({}, { column: "started", down: true }), [0, 2, 1, 3]);
});

test("the counts of states ignore the filter by state", () => {
  const counts = countStates(columns, { ...NO_FILTER, states: new Set(["Failed"]), task: "load" });
  assert.deepEqual(Object.fromEntries(counts), { Succeeded: 1, Failed: 1, Running: 1 });
});

test("durations have units", () => {
  assert.deepEqual(["90", "90s", "5m", "1.5h", "1d", "", "x", "-1"].map(parseSeconds), [90, 90, 300, 5400, 86400, null, null, null]);
});
