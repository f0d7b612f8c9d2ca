import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldKind, inferParams, initialText, parseForm, parseText, type Param } from "../src/acts/params.ts";

const param = (given: Partial<Param>): Param => ({ name: "p", type: "string", ...given });

test("a field is chosen by the type of the parameter", () => {
  assert.equal(fieldKind(param({ enum: ["a", "b"] })), "choice");
  assert.equal(fieldKind(param({ type: "boolean" })), "switch");
  assert.equal(fieldKind(param({ type: "integer" })), "number");
  assert.equal(fieldKind(param({})), "text");
  assert.equal(fieldKind(param({ type: "array" })), "json");
});

test("a text becomes a value of the parameter's type", () => {
  assert.deepEqual(parseText(param({ type: "integer" }), "3"), { unset: false, value: 3 });
  assert.deepEqual(parseText(param({ type: "number" }), "3"), { unset: false, value: 3 });
  assert.deepEqual(parseText(param({ type: "boolean" }), "true"), { unset: false, value: true });
  assert.deepEqual(parseText(param({ type: "array" }), "[1]"), { unset: false, value: [1] });
  assert.deepEqual(parseText(param({ type: "object" }), '{"a": 1}'), { unset: false, value: { a: 1 } });
  assert.deepEqual(parseText(param({ enum: [1, 2] }), "2"), { unset: false, value: 2 });
  assert.deepEqual(parseText(param({}), "3"), { unset: false, value: "3" });
});

test("a text of another type is a problem", () => {
  assert.deepEqual(parseText(param({ type: "integer" }), "3.5"), { problem: "integer" });
  assert.deepEqual(parseText(param({ type: "object" }), "[]"), { problem: "object" });
  assert.deepEqual(parseText(param({ type: "array" }), "x"), { problem: "array" });
  assert.deepEqual(parseText(param({ enum: ["a"] }), "b"), { problem: "enum" });
  assert.deepEqual(parseText(param({ pattern: "[a-z]+" }), "A"), { problem: "pattern" });
});

test("a pattern that the browser cannot read is left to the server", () => {
  assert.deepEqual(parseText(param({ pattern: "(?i)x" }), "X"), { unset: false, value: "X" });
});

test("an empty field leaves the parameter unset unless it is required", () => {
  assert.deepEqual(parseText(param({ default: "x" }), ""), { unset: true });
  assert.deepEqual(parseText(param({ required: true }), ""), { problem: "required" });
});

test("a form gives the values and the problems of its fields", () => {
  const params = [param({ name: "a", required: true }), param({ name: "b", type: "integer" }), param({ name: "c" })];
  assert.deepEqual(parseForm(params, { b: "7", c: "" }), { values: { b: 7 }, problems: { a: "required" } });
});

test("a field starts with the value of the earlier run, else with the default", () => {
  assert.equal(initialText(param({ default: "x" }), {}), "x");
  assert.equal(initialText(param({ default: "x" }), { p: "y" }), "y");
  assert.equal(initialText(param({ type: "array" }), { p: [1, 2] }), "[1,2]");
});

test("the parameters of a run without a template have the types of their values", () => {
  const types = inferParams({ a: "x", b: 1, c: 1.5, d: true, e: [], f: {} }).map((each) => each.type);
  assert.deepEqual(types, ["string", "integer", "number", "boolean", "array", "object"]);
});
