import assert from "node:assert/strict";
import { test } from "node:test";

import { isShown, withNote } from "../src/acts/answers.ts";
import { parseText, type Param } from "../src/acts/params.ts";

const FORM = { fields: [], options: ["canary", "all"], multiple: true };

test("answers have the options in the order of the form", () => {
  assert.deepEqual(withNote(FORM, { ticket: "CHG-1" }, ["all", "canary"], " go "), { answers: { ticket: "CHG-1", options: ["canary", "all"] }, note: "go" });
  assert.deepEqual(withNote({ ...FORM, options: [] }, {}, [], ""), { answers: {} });
});

test("there is no answer while a field is wrong or no option is chosen", () => {
  assert.equal(withNote(FORM, null, ["all"], ""), null);
  assert.equal(withNote(FORM, {}, [], ""), null);
});

test("a problem is shown beside a field that the form has", () => {
  const form = { ...FORM, fields: [{ name: "ticket", type: "string" as const, description: "", required: true, enum: [], pattern: null }] };
  assert.equal(isShown(form, "ticket"), true);
  assert.equal(isShown(form, "options"), true);
  assert.equal(isShown(form, "other"), false);
  assert.equal(isShown(form, undefined), false);
  assert.equal(isShown(null, "ticket"), false);
});

test("limits are those of a number or of the length of a text", () => {
  const param = (given: Partial<Param>): Param => ({ name: "p", type: "string", ...given });
  assert.deepEqual(parseText(param({ type: "integer", min: 1, max: 3 }), "4"), { problem: "limits" });
  assert.deepEqual(parseText(param({ type: "number", min: 1 }), "0.5"), { problem: "limits" });
  assert.deepEqual(parseText(param({ max: 2 }), "\u{1F600}\u{1F600}"), { unset: false, value: "\u{1F600}\u{1F600}" });
  assert.deepEqual(parseText(param({ max: 2 }), "abc"), { problem: "limits" });
});
