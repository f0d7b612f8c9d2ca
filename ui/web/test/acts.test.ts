import assert from "node:assert/strict";
import { test } from "node:test";

import { refusal } from "../src/acts/request.ts";
import { rangeOf } from "../src/views/grid/ranges.ts";

test("a page that is read only refuses every act", () => {
  assert.equal(refusal({ retry: { allowed: true, reason: "" } }, "retry", true), "This page is read only.");
});

test("an act is refused with the reason of the server, and an unknown one is tried", () => {
  const access = { retry: { allowed: false, reason: "ask for edit" }, stop: { allowed: true, reason: "" } };
  assert.equal(refusal(access, "retry", false), "ask for edit");
  assert.equal(refusal(access, "stop", false), undefined);
  assert.equal(refusal(access, "cancel", false), undefined);
});

test("a range has the rows that are shown between two, in both directions", () => {
  const keys = ["a", "b", "c", "d"];
  assert.deepEqual(rangeOf([3, 1, 0], keys, "d", "a"), ["d", "b", "a"]);
  assert.deepEqual(rangeOf([3, 1, 0], keys, "a", "b"), ["b", "a"]);
  assert.deepEqual(rangeOf([3, 1, 0], keys, "c", "b"), ["b"]);
});
