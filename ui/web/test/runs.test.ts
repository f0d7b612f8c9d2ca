import assert from "node:assert/strict";
import { test } from "node:test";
import { RUN_COLUMNS } from "../src/contract.ts";
import { isFiltered, lastHour, localInput, NO_FILTERS, readFilters, readSaved, requestQuery, timeChoices, timeText, writeFilters } from "../src/views/runs/filters.ts";
import { joined, runOf, type Run } from "../src/views/runs/run_list.ts";

const run = (key: string, uid: string, created: number): Run => ({ ...runOf([], RUN_COLUMNS), key, uid, created });

test("filters in the address come back as they were", () => {
  const filters = { text: "a b", states: ["Failed", "Running"], template: "t", schedule: "s", label: "team=data", since: "24h", until: "", at: "", source: "live" as const };
  const written = Object.entries(writeFilters(filters)).filter((each): each is [string, string] => each[1] !== null);
  assert.deepEqual(readFilters(new URLSearchParams(written)), filters);
  assert.ok(isFiltered(filters));
  assert.ok(!isFiltered(readFilters(new URLSearchParams("ns=a"))));
});

test("an age becomes a moment, and one moment a minute", () => {
  assert.equal(requestQuery({ ...NO_FILTERS, since: "24h" }, ["a", "b"], 100_000)["since"], 13_600);
  const at = requestQuery({ ...NO_FILTERS, at: "1970-01-02T03:00:00Z" }, [], 0);
  assert.deepEqual([at["since"], at["until"]], [97_200, 97_260]);
  assert.equal(requestQuery({ ...NO_FILTERS, since: "nonsense" }, [], 0)["since"], null);
});

test("the last three o'clock is never in the future", () => {
  const now = new Date(2026, 10, 25, 2, 0).getTime() / 1000;
  assert.equal(localInput(lastHour(3, now)), "2026-11-24T03:00");
  assert.equal(localInput(lastHour(1, now)), "2026-11-25T01:00");
});

test("each choice of time has words", () => {
  const texts = timeChoices(1_795_645_697).map((choice) => timeText({ ...NO_FILTERS, ...choice.filters }));
  assert.ok(texts.every((text) => text.length > 5));
  assert.equal(new Set(texts).size, texts.length);
});

test("a run that is live and archived is listed once, the newest first", () => {
  const runs = joined([run("live/a/1", "u1", 10), run("live/a/2", "u2", 30)], [run("archive/a/u1", "u1", 10), run("archive/a/u3", "u3", 20)]);
  assert.deepEqual(runs.map((each) => each.key), ["live/a/2", "archive/a/u3", "live/a/1"]);
});

test("rows of any shape become runs", () => {
  const odd = runOf(["live/a/b", "a", "b", null, "live", "Odd", 5, "", 10, null, null, null, "1/2", "t", "", 3, "x", null, "purple"], RUN_COLUMNS);
  assert.deepEqual([odd.state, odd.reason, odd.running, odd.waiting, odd.tone], ["Odd", "", 3, 0, "idle"]);
});

test("saved filters that are damaged are left out", () => {
  assert.deepEqual(readSaved("not json"), []);
  assert.deepEqual(readSaved('[{"name":"a","query":"state=Failed"},{"name":1},null]'), [{ name: "a", query: "state=Failed" }]);
});
