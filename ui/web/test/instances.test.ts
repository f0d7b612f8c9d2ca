import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyColumns, Instances } from "../src/core/instances.ts";

function some(): Instances {
  const columns = emptyColumns();
  for (const key of ["a", "b/0", "b/1"]) {
    columns.key.push(key); columns.task.push(key.split("/")[0] ?? ""); columns.label.push(key); columns.state.push("Running"); columns.tone.push("run");
    columns.reason.push(""); columns.message.push(""); columns.attempt.push(1); columns.segment.push(0); columns.launch.push(0); columns.started.push(10);
    columns.ended.push(null); columns.duration.push(null); columns.node.push("n"); columns.pod.push("p"); columns.waitClass.push(""); columns.waitUntil.push(null); columns.intervals.push([]);
  }
  return new Instances(columns);
}

test("changed rows are merged by key, and missing columns keep their values", () => {
  const instances = some();
  instances.merge({ key: ["b/1"], state: ["Succeeded"], tone: ["ok"] });
  assert.equal(instances.row(2).state, "Succeeded");
  assert.equal(instances.row(2).node, "n");
  assert.equal(instances.length, 3);
});

test("new rows are appended with blanks for missing columns", () => {
  const instances = some();
  instances.merge({ key: ["b/2"], task: ["b"] });
  assert.equal(instances.index("b/2"), 3);
  assert.deepEqual(instances.row(3), { key: "b/2", task: "b", label: "", state: "", tone: "idle", reason: "", message: "", attempt: 1, segment: 0, launch: 0, started: null, ended: null, duration: null, node: "", pod: "", waitClass: "", waitUntil: null, intervals: [] });
});

test("removed rows leave the others findable", () => {
  const instances = some();
  instances.remove(["b/0", "unknown"]);
  assert.equal(instances.length, 2);
  assert.equal(instances.row(instances.index("b/1")).key, "b/1");
  assert.equal(instances.index("b/0"), -1);
});

test("the seconds of an instance that goes on count until now", () => {
  const instances = some();
  assert.equal(instances.seconds(0, 25), 15);
  instances.merge({ key: ["a"], duration: [4] });
  assert.equal(instances.seconds(0, 25), 4);
});
