import assert from "node:assert/strict";
import { test } from "node:test";

import type { DueWait, Tally } from "../src/contract_lists.ts";
import { dueUntil, topTallies } from "../src/views/triggerers/waits.ts";

const wait = (at: number): DueWait => ({ key: `load/${at}`, run: "live/data/r", namespace: "data", task: "load", class: "http", at });

test("waits until a moment are in the order in which they are due", () => {
  assert.deepEqual(dueUntil([wait(30), wait(10), wait(20), wait(40)], 30).map((each) => each.at), [10, 20, 30]);
});

test("counts without room are summed as others", () => {
  const tallies: Tally[] = [["a", 1], ["b", 5], ["c", 2], ["d", 4]];
  assert.deepEqual(topTallies(tallies, "others", 3), [["b", 5], ["d", 4], ["others", 3]]);
  assert.deepEqual(topTallies(tallies.slice(0, 2), "others", 3), [["b", 5], ["a", 1]]);
});
