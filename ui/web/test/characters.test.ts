import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, parts, plain } from "../src/core/characters.ts";

test("text without hidden characters is one part", () => {
  assert.deepEqual(parts("load[3] → ok, café, 👩‍💻, tab\tand\nline"), [{ text: "load[3] → ok, café, 👩‍💻, tab\tand\nline", hidden: false }]);
});

test("controls, bidi controls and invisible characters become marks", () => {
  const cases: [string, string][] = [
    ["\u0000", "\u2400"], ["\u001b[31m", "\u241b[31m"], ["\r", "\u240d"], ["\u007f", "\u2421"], ["\u0085", "U+0085"], ["\u202e", "U+202E"], ["\u2066", "U+2066"],
    ["\u200b", "U+200B"], ["\ufeff", "U+FEFF"], ["\u061c", "U+061C"], ["\u{e0041}", "U+E0041"], ["\ud800", "U+D800"], ["\udc00", "U+DC00"], ["\u00ad", "U+00AD"], ["\u2028", "U+2028"],
  ];
  for (const [text, shown] of cases) assert.equal(plain(`a${text}b`), `a${shown}b`);
});

test("marks are parts of their own, so that they can look different", () => {
  assert.deepEqual(parts("a\u202eb"), [{ text: "a", hidden: false }, { text: "U+202E", hidden: true }, { text: "b", hidden: false }]);
});

test("a cut never splits a surrogate pair", () => {
  assert.equal(cut("ab😀", 3), "ab…");
  assert.equal(cut("ab😀", 4), "ab😀");
});
