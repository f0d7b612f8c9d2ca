/** What the pointer is on: the interval, how long it took, and why the instance stands there. */
import { Data } from "../../components/data.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { Cause, Interval } from "../../contract.ts";
import type { Instances } from "../../core/instances.ts";
import { duration, moment, relative } from "../../core/times.ts";
import { l } from "../../texts/timeline.en.ts";
import type { Hit } from "./canvas.tsx";

/** The instance as commands and causes name it: "load/0.3" for the key "load/0/3". Pure. */
export function reference(key: string): string {
  const [task, ...path] = key.split("/");
  return path.length === 0 ? (task ?? key) : `${task}/${path.join(".")}`;
}

export function Hint({ hit, instances, causes, now, width, overlay }: { hit: Hit; instances: Instances; causes: Cause[]; now: number; width: number; overlay: ReadonlyMap<string, Interval[]> | null }) {
  const { row } = hit;
  const left = hit.x > width - 340 ? Math.max(8, hit.x - 336) : hit.x + 14;
  const style = { left: `${left}px`, top: `${hit.y + 18}px` };
  if (row.kind === "group") return <div class="hint" style={style}><span class="strong"><Data text={row.label} limit={200} /></span><span class="soft">{l.groupOf(row.members.length)}</span></div>;
  const c = instances.columns;
  const cause = causes.find((each) => each.subject === reference(row.key) || each.subject === row.key || each.subject === c.task[row.index]);
  const message = c.message[row.index] ?? "";
  const due = c.waitUntil[row.index] ?? null;
  return (
    <div class="hint" style={style}>
      <div class="row"><span class="strong clip grow"><Data text={row.label} limit={200} /></span><StateBadge state={c.state[row.index] ?? ""} tone={c.tone[row.index]} /></div>
      {hit.interval ? <IntervalFacts interval={hit.interval} now={now} /> : null}
      {c.reason[row.index] ? <div class="soft"><Data text={c.reason[row.index]} limit={200} /></div> : null}
      {cause ? <div class="wrap"><Data text={cause.sentence} limit={400} /></div> : message ? <div class="wrap"><Data text={message} limit={400} /></div> : null}
      {due !== null ? <div class="soft">{l.until(`${moment(due, now)}, ${relative(due, now)}`)}</div> : null}
      {overlay?.has(row.key) ? <div class="soft">{l.overlayTook(duration(total(overlay.get(row.key) ?? [], now)))}</div> : null}
    </div>
  );
}

function total(intervals: Interval[], now: number): number {
  const [first, last] = [intervals[0], intervals.at(-1)];
  return first && last ? (last[2] ?? now) - first[1] : 0;
}

function IntervalFacts({ interval, now }: { interval: Interval; now: number }) {
  const [phase, start, end, detail, attempt, segment, launch, reason] = interval;
  const shown = phase === "gap" ? l.folded(Number(detail) || 0) : detail;
  return (
    <>
      <div class="row"><span class={`phase-mark phase-${phase.replace(" ", "-")}`} /><span class="grow">{l.phases[phase] ?? phase}</span><span class="strong">{duration((end ?? now) - start)}</span></div>
      {shown ? <div class="soft clip mono"><Data text={shown} limit={200} /></div> : null}
      <div class="soft">{moment(start, now)} – {end === null ? l.goesOn : moment(end, now)} · {l.attempt(attempt, segment, launch)}{reason ? <> · <Data text={reason} limit={80} /></> : null}</div>
    </>
  );
}
