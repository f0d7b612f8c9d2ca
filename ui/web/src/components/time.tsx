/** Moments, ages and durations. The tooltip of a moment is its UTC. */
import type { Time } from "../contract.ts";
import { now } from "../core/clock.ts";
import { age, duration, iso, moment, relative, utc } from "../core/times.ts";

export function Moment({ at }: { at: Time | undefined }) {
  if (at === null || at === undefined) return <span class="soft">–</span>;
  return <time dateTime={iso(at)} title={utc(at)}>{moment(at, now.value)}</time>;
}

export function Ago({ at }: { at: Time | undefined }) {
  if (at === null || at === undefined) return <span class="soft">–</span>;
  return <time dateTime={iso(at)} title={`${moment(at, now.value)} · ${utc(at)}`}>{relative(at, now.value)}</time>;
}

/** A duration that is known, or one that goes on since `since`. */
export function Duration({ seconds, since }: { seconds?: Time | undefined; since?: Time | undefined }) {
  if (seconds !== null && seconds !== undefined) return <span>{duration(seconds)}</span>;
  if (since !== null && since !== undefined) return <span title={utc(since)}>{age(now.value - since)}</span>;
  return <span class="soft">–</span>;
}
