import assert from "node:assert/strict";
import { test } from "node:test";

import { nextBox } from "../src/views/graph/keys.ts";
import type { Rect } from "../src/views/graph/layout.ts";
import { fitted, started, zoomed } from "../src/views/graph/pan_zoom.ts";

const rect = (x: number, y: number): Rect => ({ x, y, width: 200, height: 46 });

test("a small drawing is in the middle at its own size", () => {
  assert.deepEqual(fitted(1000, 500, 400, 100), { scale: 1, x: 300, y: 200 });
});

test("a large drawing starts readable, where what needs attention is", () => {
  const camera = started(1000, 500, 10_000, 300, rect(6000, 100));
  assert.equal(camera.scale, 0.7);
  assert.equal(Math.round(camera.x + (6000 + 100) * camera.scale), 500);
});

test("the point below the pointer stays when the scale changes", () => {
  const camera = zoomed({ x: 10, y: 20, scale: 1 }, 1.5, 110, 220);
  assert.equal((110 - camera.x) / camera.scale, 100);
  assert.equal((220 - camera.y) / camera.scale, 200);
});

test("the scale has bounds", () => {
  assert.equal(zoomed({ x: 0, y: 0, scale: 1 }, 100, 0, 0).scale, 2);
  assert.equal(zoomed({ x: 0, y: 0, scale: 1 }, 0.001, 0, 0).scale, 0.08);
});

test("arrow keys follow edges, else go to the nearest box", () => {
  const rects = new Map([["a", rect(0, 0)], ["b", rect(300, 100)], ["c", rect(300, 0)], ["d", rect(0, 100)]]);
  const around = new Map([["a", { before: [], after: ["b"] }]]);
  assert.equal(nextBox("ArrowRight", "a", rects, around), "b");
  assert.equal(nextBox("ArrowDown", "a", rects, around), "d");
  assert.equal(nextBox("ArrowRight", "d", rects, around), "b");
  assert.equal(nextBox("ArrowLeft", "a", rects, around), null);
  assert.equal(nextBox("End", "a", rects, around), "d");
  assert.equal(nextBox("x", "a", rects, around), null);
});
