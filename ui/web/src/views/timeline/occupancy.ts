/** The steps of pods and waits of a run that goes on, until now. Pure. */
import type { Occupancy } from "../../contract.ts";

/**
 * The last step of the server ends all intervals at the moment of its answer. In a run that goes on they go on, so the
 * step before holds until now. `now` is null for a run that has ended.
 */
export function upTo(occupancy: Occupancy, now: number | null): Occupancy {
  const { t, pods, waits } = occupancy;
  const last = t.length - 1;
  if (now === null || last < 1 || (pods[last] ?? 0) > 0 || (waits[last] ?? 0) > 0) return occupancy;
  const held = (values: number[]): number[] => [...values.slice(0, last), values[last - 1] ?? 0];
  return { t: [...t.slice(0, last), Math.max(now, t[last - 1] ?? now)], pods: held(pods), waits: held(waits) };
}
