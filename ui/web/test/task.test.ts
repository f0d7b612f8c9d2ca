import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogLine } from "../src/contract.ts";
import { spans, withoutColors } from "../src/core/ansi.ts";
import { LogBuffer, MOST_LINES, rankOf } from "../src/views/task/log_buffer.ts";
import { kinds, parsed, tableOf } from "../src/views/task/result_kinds.ts";

const line = (text: string, severity = "info", source = "pod-1"): LogLine => ({ t: 0, source, stream: "stdout", severity, text, attempt: 1, segment: 0 });

test("colour sequences become styles, other sequences stay visible", () => {
  assert.deepEqual(spans("a\u001b[1;31mred\u001b[0m b\u001b[2J"), [{ text: "a", style: "" }, { text: "red", style: "ansi-bad ansi-bold" }, { text: " b\u001b[2J", style: "" }]);
  assert.equal(withoutColors("\u001b[32mok\u001b[m"), "ok");
});

test("lines are found by text, severity and source, without their colours", () => {
  const buffer = new LogBuffer();
  buffer.add([line("Loaded \u001b[31meu\u001b[0m"), line("slow", "WARNING"), line("boom", "error", "wait")]);
  const found = (filter: { text?: string; severity?: string; source?: string }) => buffer.filtered({ text: "", severity: "", source: "", ...filter }).map((each) => each.text.slice(0, 4));
  assert.deepEqual(found({ text: "loaded EU" }), ["Load"]);
  assert.deepEqual(found({ severity: "warning" }), ["slow", "boom"]);
  assert.deepEqual(found({ source: "wait" }), ["boom"]);
  assert.deepEqual(["trace", "INFO", "", "critical"].map(rankOf), [0, 1, 1, 3]);
});

test("the buffer keeps the last lines and counts the others", () => {
  const buffer = new LogBuffer();
  for (let index = 0; index < 12; index += 1) buffer.add(Array.from({ length: MOST_LINES / 10 }, (_, at) => line(String(index * MOST_LINES + at))));
  assert.equal(buffer.lines.length + buffer.dropped, 1.2 * MOST_LINES);
  assert.ok(buffer.lines.length <= 1.1 * MOST_LINES);
});

test("a list of objects is a table, other values are not", () => {
  assert.deepEqual(tableOf([{ a: 1, b: { c: 2 } }, { b: null, d: "x" }]), { columns: ["a", "b", "d"], rows: [["1", '{"c":2}', ""], ["", "", "x"]] });
  for (const value of [null, [], [1, 2], [[1]], { a: 1 }, "text", [{}]]) assert.equal(tableOf(value), null);
});

test("a result is shown in the ways that its value allows", () => {
  assert.deepEqual([kinds(undefined, false), kinds(5, false), kinds({ a: 1 }, false), kinds([{ a: 1 }], true)], [["text"], ["text"], ["tree", "text"], ["table", "tree", "text"]]);
});

test("files of separated values and lines of JSON are lists of objects", () => {
  assert.deepEqual(parsed('a,b\r\n1,"x, ""y""\nz"\n,2\n', "r.csv"), [{ a: "1", b: 'x, "y"\nz' }, { a: "", b: "2" }]);
  assert.deepEqual(parsed("a\tb\n1\t2", "r.tsv"), [{ a: "1", b: "2" }]);
  assert.deepEqual(parsed('{"a":1}\n{"a":2}\n', "r.jsonl"), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual([parsed("[1]", ""), parsed("no json", ""), parsed("", "r.csv")], [[1], undefined, undefined]);
});
