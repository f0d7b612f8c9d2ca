import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/core/events.ts";
import { backoff, transient } from "../src/core/stream.ts";

test("events arrive whole, wherever the pieces are cut", () => {
  const text = ": beat\n\nevent: delta\nid: 7\ndata: {\"a\":1}\ndata: 2\r\n\r\ndata:x\n\n";
  for (let size = 1; size < text.length; size += 1) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(events, [{ type: "delta", data: "{\"a\":1}\n2", id: "7" }, { type: "message", data: "x", id: "7" }]);
  }
});

test("an event above the limit is dropped and counted", () => {
  const parser = new EventParser();
  const line = `data: ${"x".repeat(1024 * 1024)}\n`;
  for (let index = 0; index < 65; index += 1) assert.deepEqual(parser.push(line), []);
  assert.deepEqual(parser.push("\ndata: ok\n\n").map((event) => event.data), ["ok"]);
  assert.equal(parser.overflow, 1);
});

test("the delay before a connection doubles to 30 seconds, less a random half", () => {
  assert.deepEqual([1, 2, 3, 6, 99].map((failures) => backoff(failures, 1)), [1000, 2000, 4000, 30000, 30000]);
  assert.equal(backoff(2, 0), 1000);
});

test("only refusals that may pass are tried again", () => {
  assert.deepEqual([0, 401, 403, 404, 408, 410, 429, 500, 503].map(transient), [true, false, false, false, true, false, false, true, true]);
});
