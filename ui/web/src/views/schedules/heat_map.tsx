/** The days of a Schedule's past: the worst that happened as colour and pattern, how much as strength. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ScheduleDetail } from "../../contract_lists.ts";
import { now } from "../../core/clock.ts";
import { href } from "../../core/router.ts";
import { s } from "../../texts/lists.en.ts";
import { buildCalendar, type CalendarCell } from "./calendar.ts";

const TONES = { failed: "bad", missed: "warn", skipped: "skip", ok: "ok", none: "" } as const;

export function HeatMap({ schedule }: { schedule: ScheduleDetail }) {
  const today = new Date(now.value * 1000).toISOString().slice(0, 10);
  const scroller = useRef<HTMLDivElement>(null);
  // Where the weeks have no room, the latest are in sight.
  useLayoutEffect(() => scroller.current?.scrollTo({ left: scroller.current.scrollWidth }), []);
  const calendar = buildCalendar(schedule.calendar, today);
  return (
    <div class="stack">
      <div ref={scroller} class="heat-scroll" tabIndex={0} role="group" aria-label={s.past}>
        <div class="heat" style={{ gridTemplateColumns: `34px repeat(${calendar.weeks}, 20px)` }}>
          {calendar.months.map((month) => <span class="heat-label" style={{ gridRow: 1, gridColumn: `${month.week + 2} / span 3` }}>{s.months[Number(month.day.slice(5, 7)) - 1]}</span>)}
          {s.weekdays.map((name, weekday) => (name ? <span class="heat-label" style={{ gridRow: weekday + 2, gridColumn: 1 }}>{name}</span> : null))}
          {calendar.cells.map((cell) => <Day key={cell.day} cell={cell} schedule={schedule} />)}
        </div>
      </div>
      <div class="row fold small soft heat-legend">{(["ok", "failed", "missed", "skipped", "none"] as const).map((kind) => <span class="row"><span class={`heat-day ${classOf(kind, 4)}`} />{s.legend[kind]}</span>)}</div>
    </div>
  );
}

function Day({ cell, schedule }: { cell: CalendarCell; schedule: ScheduleDetail }) {
  const text = s.day(cell.day, cell.ok, cell.failed, cell.missed, cell.skipped);
  const place = { gridRow: cell.weekday + 2, gridColumn: cell.week + 2 };
  const classes = `heat-day ${classOf(cell.worst, cell.level)}`;
  if (cell.worst === "none") return <span class={classes} style={place} title={text} />;
  const next = new Date(Date.parse(`${cell.day}T00:00:00Z`) + 86_400_000).toISOString();
  return <a class={classes} style={place} title={text} aria-label={text} href={href("runs", { schedule: schedule.name, ns: schedule.namespace, since: `${cell.day}T00:00:00.000Z`, until: next })} />;
}

function classOf(worst: CalendarCell["worst"], level: number): string {
  return worst === "none" ? "none" : `area tone-${TONES[worst]} level-${level}`;
}
