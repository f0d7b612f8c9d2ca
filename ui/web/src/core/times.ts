/** Times in the zone of the viewer, durations and ages as text. Pure but for the zone of the browser. */
import { t } from "../texts.en.ts";

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const SHORT_CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_AND_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });

const usable = (seconds: number): boolean => Number.isFinite(seconds) && Math.abs(seconds) < 8.6e12;
const date = (seconds: number): Date => new Date(seconds * 1000);

/** "22:28:17" today, "24 Nov 22:28:17" this year, "24 Nov 2025 22:28:17" before. */
export function moment(seconds: number, now: number): string {
  if (!usable(seconds)) return t.unknown;
  const then = date(seconds);
  const today = date(now);
  if (then.toDateString() === today.toDateString()) return CLOCK.format(then);
  const day = then.getFullYear() === today.getFullYear() ? DAY : DAY_AND_YEAR;
  return `${day.format(then)} ${CLOCK.format(then)}`;
}

export function clock(seconds: number): string {
  return usable(seconds) ? CLOCK.format(date(seconds)) : t.unknown;
}

export function shortClock(seconds: number): string {
  return usable(seconds) ? SHORT_CLOCK.format(date(seconds)) : t.unknown;
}

export function day(seconds: number): string {
  return usable(seconds) ? WEEKDAY.format(date(seconds)) : t.unknown;
}

/** The same moment in UTC, for the tooltip: "2026-11-25 22:28:17 UTC". */
export function utc(seconds: number): string {
  return usable(seconds) ? `${date(seconds).toISOString().slice(0, 19).replace("T", " ")} UTC` : t.unknown;
}

export function iso(seconds: number): string {
  return usable(seconds) ? date(seconds).toISOString() : "";
}

/** "0 s", "850 ms", "12.3 s", "4m 05s", "2h 13m", "3d 4h". Negative ones, of a wrong clock, count as zero. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return t.unknown;
  if (seconds <= 0) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const pad = (value: number): string => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${pad(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${pad(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${Math.floor((whole % 86400) / 3600)}h`;
}

/** A duration that counts whole seconds, for what changes each second. */
export function age(seconds: number): string {
  return duration(Math.max(0, Math.floor(seconds)));
}

/** "4m 05s ago", "in 2h 13m", "now". */
export function relative(seconds: number, now: number): string {
  const difference = Math.floor(now - seconds);
  if (!Number.isFinite(difference)) return t.unknown;
  if (difference >= 1) return t.ago(duration(difference));
  if (difference <= -1) return t.in(duration(-difference));
  return t.now;
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** Reads a filter such as "24h", "7d" or an ISO date: the moment in seconds; null for neither. */
export function since(text: string, now: number): number | null {
  const relativeTime = /^(\d{1,6})([smhdw])$/.exec(text.trim());
  if (relativeTime) return now - Number(relativeTime[1]) * (UNITS[relativeTime[2] ?? ""] ?? 1);
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? null : parsed / 1000;
}
