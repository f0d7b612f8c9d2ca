/** Waits that are due, and counts of waits. Pure. */
import type { DueWait, Tally } from "../../contract_lists.ts";

const SHOWN = 8;

/** Those due until a moment, the soonest first. */
export function dueUntil(due: readonly DueWait[], end: number): DueWait[] {
  return due.filter((wait) => wait.at <= end).sort((a, b) => a.at - b.at);
}

/** The largest counts, and under `others` the sum of what has no room. */
export function topTallies(tallies: readonly Tally[], others: string, most = SHOWN): Tally[] {
  const largest = [...tallies].sort((a, b) => b[1] - a[1]);
  if (largest.length <= most) return largest;
  const rest = largest.slice(most - 1).reduce((sum, [, each]) => sum + each, 0);
  return [...largest.slice(0, most - 1), [others, rest]];
}
