import assert from "node:assert/strict";
import { test } from "node:test";

import type { Task } from "../src/contract.ts";
import { assignLayers } from "../src/views/graph/layers.ts";
import { layoutGraph, pathOf, type Rect } from "../src/views/graph/layout.ts";
import { buildGraph, groupNames, neighbours, shapeKey } from "../src/views/graph/model.ts";

const task = (name: string, groups: string[] = [], tone: Task["tone"] = "ok"): Task => ({
  name, kind: "python", state: "Succeeded", tone, details: [], groups, hook: "", mapped: false,
  progress: "", counts: {}, total: 1, displayName: name,
});
const edge = (from: string, to: string): [string, string, string] => [from, to, "upstream"];
const meets = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

test("a folded group is one box with the tone of its most urgent task", () => {
  const tasks = [task("a"), task("b", ["g"], "wait"), task("c", ["g"], "bad"), task("d")];
  const graph = buildGraph(tasks, [edge("a", "b"), edge("b", "c"), edge("c", "d")], new Set(["g"]));
  assert.deepEqual(graph.boxes.map((box) => box.id), ["task:a", "group:g", "task:d"]);
  assert.equal(graph.boxes[1]?.tone, "bad");
  assert.equal(graph.boxes[1]?.tasks, 2);
  assert.deepEqual(graph.edges.map((each) => `${each.from} ${each.to}`), ["task:a group:g", "group:g task:d"]);
});

test("a group inside a folded group is not shown", () => {
  const tasks = [task("a", ["outer", "inner"]), task("b", ["outer"])];
  const graph = buildGraph(tasks, [edge("a", "b")], new Set(["outer"]));
  assert.deepEqual(graph.boxes.map((box) => box.id), ["group:outer"]);
  assert.equal(graph.boxes[0]?.tasks, 2);
  assert.deepEqual(groupNames(tasks), ["outer", "inner"]);
});

test("a task and a group of the same name are two boxes", () => {
  const graph = buildGraph([task("a", ["a"])], [], new Set());
  assert.deepEqual(graph.boxes.map((box) => [box.id, box.parent]), [["group:a", null], ["task:a", "group:a"]]);
});

test("a task is right of everything that it comes after", () => {
  const tasks = ["a", "b", "c", "d"].map((name) => task(name));
  const edges = [edge("a", "b"), edge("b", "c"), edge("a", "d"), edge("c", "d")];
  const { rects } = layoutGraph(buildGraph(tasks, edges, new Set()));
  for (const [from, to] of edges) {
    const [left, right] = [rects.get(`task:${from}`) as Rect, rects.get(`task:${to}`) as Rect];
    assert.ok(left.x + left.width < right.x, `${from} before ${to}`);
  }
});

test("boxes overlap only the groups that they are in", () => {
  const tasks = [
    task("a"), task("b", ["g"]), task("c", ["g", "h"]), task("d", ["g", "h"]), task("e", ["k"]), task("f"), task("x"),
  ];
  const edges = [edge("a", "b"), edge("b", "c"), edge("b", "d"), edge("a", "e"), edge("d", "f"), edge("e", "f"), edge("a", "f")];
  const graph = buildGraph(tasks, edges, new Set());
  const { rects } = layoutGraph(graph);
  const around = (id: string): string[] => {
    const parent = graph.boxes.find((box) => box.id === id)?.parent ?? null;
    return parent === null ? [] : [parent, ...around(parent)];
  };
  for (const a of graph.boxes) {
    for (const b of graph.boxes) {
      if (a === b) continue;
      const nested = around(a.id).includes(b.id) || around(b.id).includes(a.id);
      assert.equal(meets(rects.get(a.id) as Rect, rects.get(b.id) as Rect), nested, `${a.id} ${b.id}`);
    }
  }
});

test("groups that need each other are laid out all the same", () => {
  const tasks = [task("a", ["g"]), task("b", ["h"]), task("c", ["g"])];
  const layout = layoutGraph(buildGraph(tasks, [edge("a", "b"), edge("b", "c")], new Set()));
  assert.equal(layout.rects.size, 5);
  assert.equal(layout.routes.length, 2);
});

test("edges of a circle do not stop the layers", () => {
  const layers = assignLayers(["a", "b", "c"], new Map([["a", ["b"]], ["b", ["c"]], ["c", ["a"]]]));
  assert.deepEqual([...layers.values()], [0, 1, 2]);
});

test("a long edge passes between the boxes of the layers", () => {
  const tasks = ["a", "b", "c"].map((name) => task(name));
  const layout = layoutGraph(buildGraph(tasks, [edge("a", "b"), edge("b", "c"), edge("a", "c")], new Set()));
  const long = layout.routes.find((route) => route.from === "task:a" && route.to === "task:c");
  const middle = layout.rects.get("task:b") as Rect;
  const height = long?.points[3] as number;
  assert.ok(height < middle.y || height > middle.y + middle.height);
});

test("500 tasks in groups are laid out without overlap", () => {
  const tasks = Array.from({ length: 500 }, (_, at) => task(`t${at}`, [`g${at % 10}`]));
  const edges = tasks.slice(10).map((_, at) => edge(`t${at}`, `t${at + 10}`));
  const { rects } = layoutGraph(buildGraph(tasks, edges, new Set()));
  const leaves = [...rects].filter(([id]) => id.startsWith("task:")).map(([, rect]) => rect);
  assert.equal(leaves.length, 500);
  assert.ok(!leaves.some((a, at) => leaves.slice(at + 1).some((b) => meets(a, b))));
});

test("a change of states does not change the shape, folding does", () => {
  const edges = [edge("a", "b")];
  const before = buildGraph([task("a"), task("b", ["g"])], edges, new Set());
  assert.equal(shapeKey(before), shapeKey(buildGraph([task("a", [], "bad"), task("b", ["g"])], edges, new Set())));
  assert.notEqual(shapeKey(before), shapeKey(buildGraph([task("a"), task("b", ["g"])], edges, new Set(["g"]))));
});

test("the arrow keys follow the edges", () => {
  const graph = buildGraph([task("a"), task("b"), task("c")], [edge("a", "c"), edge("b", "c")], new Set());
  assert.deepEqual(neighbours(graph).get("task:c"), { before: ["task:a", "task:b"], after: [] });
});

test("a path ends level at both boxes", () => {
  assert.equal(pathOf([0, 10, 100, 50]), "M0 10C50 10 50 50 100 50");
});
