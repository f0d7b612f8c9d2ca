/** How many instances of a folded group hold a pod and how many wait, over the pixels of a row. Pure. */
import type { Interval } from "../../contract.ts";
import type { TimeWindow } from "./time_window.ts";

export interface Density { pods: Float32Array; waits: Float32Array; queued: Float32Array; most: number }

/** Counts by bins. An interval counts in each bin by the part that it fills; sums of differences keep this linear. */
export function density(intervals: Iterable<Interval[]>, window: TimeWindow, bins: number, now: number): Density {
  const [pods, waits, queued] = [new Float32Array(bins + 2), new Float32Array(bins + 2), new Float32Array(bins + 2)];
  const scale = bins / (window.to - window.from || 1);
  for (const row of intervals) {
    for (const [phase, start, end] of row) {
      const into = phase === "running" || phase === "starting" ? pods : phase === "waiting" ? waits : phase === "queued" ? queued : null;
      if (into) add(into, (start - window.from) * scale, ((end ?? now) - window.from) * scale, bins);
    }
  }
  let most = 0;
  for (let bin = 0; bin < bins; bin += 1) {
    for (const each of [pods, waits, queued]) each[bin + 1] = (each[bin + 1] ?? 0) + (each[bin] ?? 0);
    most = Math.max(most, (pods[bin] ?? 0) + (waits[bin] ?? 0) + (queued[bin] ?? 0));
  }
  return { pods, waits, queued, most };
}

/** Adds 1 from the bin of `from` to that of `to`, as differences. */
function add(into: Float32Array, from: number, to: number, bins: number): void {
  if (to < 0 || from > bins) return;
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(bins, Math.max(first + 1, Math.ceil(to)));
  into[first] = (into[first] ?? 0) + 1;
  into[last] = (into[last] ?? 0) - 1;
}
