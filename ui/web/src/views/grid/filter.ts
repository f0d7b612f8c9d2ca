/** Which instances the grid shows, from the columns of a run. Pure; one pass over 10,000 rows takes a few milliseconds. */

import type { InstanceColumns } from "../../contract.ts";

export interface GridFilter {
  /** Empty: all states. */
  states: ReadonlySet<string>;
  task: string;
  text: string;
  node: string;
  /** Seconds; null: no bound. */
  longerThan: number | null;
}

export type GridSort = { column: GridColumn; down: boolean };
export type GridColumn = "label" | "state" | "attempt" | "started" | "duration" | "node" | "waitUntil";

export const NO_FILTER: GridFilter = { states: new Set(), task: "", text: "", node: "", longerThan: null };

/** Indexes of the rows that fit, in the order of the run or of the sort. */
export function filterRows(columns: InstanceColumns, filter: GridFilter, sort: GridSort | null): Int32Array {
  const words = filter.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const found = new Int32Array(columns.key.length);
  let count = 0;
  for (let row = 0; row < columns.key.length; row += 1) {
    if (fits(columns, row, filter, words)) found[count++] = row;
  }
  const rows = found.subarray(0, count);
  if (sort !== null) sortRows(rows, columns, sort);
  return rows;
}

/** How many rows each state has, before the filter by state: the numbers on the buttons. */
export function countStates(columns: InstanceColumns, filter: GridFilter): Map<string, number> {
  const counts = new Map<string, number>();
  const all = filterRows(columns, { ...filter, states: new Set() }, null);
  for (const row of all) {
    const state = columns.state[row] ?? "";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** "90", "90s", "5m", "2h", "1d" in seconds; null if it is none of them. */
export function parseSeconds(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(s|m|h|d)?$/.exec(text.trim());
  if (match === null) return null;
  const unit = { s: 1, m: 60, h: 3600, d: 86400 }[(match[2] ?? "s") as "s" | "m" | "h" | "d"];
  return Number(match[1]) * unit;
}

function fits(columns: InstanceColumns, row: number, filter: GridFilter, words: readonly string[]): boolean {
  if (filter.states.size > 0 && !filter.states.has(columns.state[row] ?? "")) return false;
  if (filter.task !== "" && columns.task[row] !== filter.task) return false;
  if (filter.node !== "" && columns.node[row] !== filter.node) return false;
  if (filter.longerThan !== null && (columns.duration[row] ?? 0) < filter.longerThan) return false;
  return words.length === 0 || hasWords(columns, row, words);
}

function hasWords(columns: InstanceColumns, row: number, words: readonly string[]): boolean {
  const text = [
    columns.key[row], columns.label[row], columns.state[row], columns.reason[row],
    columns.message[row], columns.node[row], columns.pod[row],
  ].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

function sortRows(rows: Int32Array, columns: InstanceColumns, sort: GridSort): void {
  const values = columns[sort.column] as readonly (string | number | null)[];
  const direction = sort.down ? -1 : 1;
  rows.sort((a, b) => {
    const left = values[a] ?? null;
    const right = values[b] ?? null;
    // What has no value comes last in both directions.
    if (left === null || right === null) return left === right ? a - b : left === null ? 1 : -1;
    if (left === right) return a - b;
    return (left < right ? -1 : 1) * direction;
  });
}
