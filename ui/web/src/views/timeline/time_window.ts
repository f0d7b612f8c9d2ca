/** The part of the time that the timeline shows: zoom, pan and the ticks of its axis. Pure. */

export interface TimeWindow { from: number; to: number }

const SHORTEST = 1;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000];

/** The whole run with some room at both ends. */
export function whole(start: number, end: number): TimeWindow {
  const length = Math.max(end - start, 5);
  return { from: start - length * 0.01, to: end + length * 0.02 };
}

/** Keeps a window within the whole and not shorter than a second. */
export function clamp(window: TimeWindow, limits: TimeWindow): TimeWindow {
  const most = limits.to - limits.from;
  const length = Math.min(Math.max(window.to - window.from, SHORTEST), most);
  const middle = (window.from + window.to) / 2;
  const from = Math.min(Math.max(middle - length / 2, limits.from), limits.to - length);
  return { from, to: from + length };
}

/** Zooms by a factor; the moment `at` stays at its place. */
export function zoom(window: TimeWindow, factor: number, at: number, limits: TimeWindow): TimeWindow {
  const length = Math.max((window.to - window.from) * factor, SHORTEST);
  const part = (at - window.from) / (window.to - window.from || 1);
  return clamp({ from: at - part * length, to: at + (1 - part) * length }, limits);
}

export function pan(window: TimeWindow, seconds: number, limits: TimeWindow): TimeWindow {
  return clamp({ from: window.from + seconds, to: window.to + seconds }, limits);
}

/** The distance of ticks, so that at most `most` are shown. */
export function step(window: TimeWindow, most: number): number {
  const least = (window.to - window.from) / Math.max(1, most);
  return STEPS.find((each) => each >= least) ?? Math.ceil(least / 2592000) * 2592000;
}

/** The moments of ticks, at round times of a zone that is `offset` seconds ahead of UTC. */
export function ticks(window: TimeWindow, most: number, offset: number): number[] {
  const distance = step(window, most);
  const first = Math.ceil((window.from + offset) / distance) * distance - offset;
  const count = Math.min(Math.floor((window.to - first) / distance) + 1, 500);
  return Array.from({ length: Math.max(0, count) }, (_, index) => first + index * distance);
}
