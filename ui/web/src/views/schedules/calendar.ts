/** The days of a Schedule's past as weeks of a heat map. Pure; days are dates without a zone, as the server names them. */
import type { CalendarDay } from "../../contract_lists.ts";

export interface CalendarCell extends CalendarDay {
  week: number;
  /** 0: Monday. */
  weekday: number;
  /** 0: no runs; 1 to 4: the more runs, the stronger. */
  level: number;
  worst: "failed" | "missed" | "skipped" | "ok" | "none";
}

export interface CalendarMonth {
  week: number;
  /** First day of the month, YYYY-MM-DD. */
  day: string;
}

export interface Calendar {
  cells: CalendarCell[];
  months: CalendarMonth[];
  weeks: number;
}

const DAY = 86_400_000;

/** The weeks that end with `today`; days that `days` does not name have no runs. */
export function buildCalendar(days: readonly CalendarDay[], today: string, weeks = 26): Calendar {
  const known = new Map(days.map((day) => [day.day, day]));
  const most = Math.max(1, ...days.map(total));
  const end = Date.parse(`${today}T00:00:00Z`);
  const start = end - (weekdayOf(end) + (weeks - 1) * 7) * DAY;
  const cells: CalendarCell[] = [];
  const months: CalendarMonth[] = [];
  for (let time = start; time <= end; time += DAY) {
    const name = new Date(time).toISOString().slice(0, 10);
    const day = known.get(name) ?? { day: name, ok: 0, failed: 0, missed: 0, skipped: 0 };
    const week = Math.floor((time - start) / (7 * DAY));
    cells.push({ ...day, week, weekday: weekdayOf(time), level: levelOf(day, most), worst: worstOf(day) });
    if (name.endsWith("-01")) months.push({ week, day: name });
  }
  return { cells, months, weeks };
}

export function total(day: CalendarDay): number {
  return day.ok + day.failed + day.missed + day.skipped;
}

function weekdayOf(time: number): number {
  return (new Date(time).getUTCDay() + 6) % 7;
}

function levelOf(day: CalendarDay, most: number): number {
  const count = total(day);
  return count === 0 ? 0 : Math.min(4, Math.ceil((4 * count) / most));
}

function worstOf(day: CalendarDay): CalendarCell["worst"] {
  if (day.failed > 0) return "failed";
  if (day.missed > 0) return "missed";
  if (day.ok > 0) return "ok";
  return day.skipped > 0 ? "skipped" : "none";
}
