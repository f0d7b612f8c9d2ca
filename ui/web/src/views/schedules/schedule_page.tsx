/** One Schedule: its acts, its next ticks, its past as a heat map, its queue and its latest runs. */
import { accessOf } from "../../acts/access.ts";
import { ActButton } from "../../acts/button.tsx";
import { Facts, Figure, Loading, Panel, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { Ago, Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { ActName } from "../../contract.ts";
import type { ScheduleDetail } from "../../contract_lists.ts";
import { count } from "../../core/numbers.ts";
import { usePolled } from "../../core/polled.ts";
import { href, pathOf, runPath } from "../../core/router.ts";
import { s } from "../../texts/lists.en.ts";
import { HeatMap } from "./heat_map.tsx";
import { ScheduleState } from "./state.tsx";

export function SchedulePage({ namespace, name }: { namespace: string; name: string }) {
  const { value, problem, again } = usePolled<ScheduleDetail>(`api/${pathOf("schedules", namespace, name)}`, 15);
  if (value === null) return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : <Loading />;
  return (
    <div class="page-pad scroll">
      <a href={href("schedules")} class="row small"><Icon name="left" size={12} />{s.all}</a>
      <Head schedule={value} />
      {problem ? <ProblemBox problem={problem} onRetry={again} /> : null}
      {value.message ? <p class="note"><Icon name="warn" size={14} /><Data text={value.message} limit={1000} /></p> : null}
      <div class="schedule-panels">
        <div class="stack wide">
          <Panel title={s.past}><HeatMap schedule={value} /></Panel>
          <div class="panels three">
            <Panel title={s.next}><NextTicks schedule={value} /></Panel>
            <Panel title={s.queue}><Queue schedule={value} /></Panel>
          </div>
        </div>
        <Panel title={s.runs} actions={<a class="button quiet" href={href("runs", { schedule: value.name, ns: value.namespace })}>{s.allRuns}</a>}><LatestRuns schedule={value} /></Panel>
      </div>
    </div>
  );
}

function Head({ schedule }: { schedule: ScheduleDetail }) {
  const button = (act: ActName, icon?: "play" | "pause") => (
    <ActButton access={accessOf(schedule.namespace, schedule.acts)} {...(icon ? { icon } : {})} request={{ act, subject: schedule.name, body: act === "backfill" ? { schedule: `${schedule.namespace}/${schedule.name}` } : { schedules: [`${schedule.namespace}/${schedule.name}`] } }} />
  );
  return (
    <header class="stack">
      <div class="row fold">
        <h1 class="clip"><Data text={schedule.name} limit={253} /></h1><ScheduleState row={schedule} /><span class="soft"><Data text={schedule.namespace} /></span>
        <span class="grow" />
        {button("schedule-run", "play")}{schedule.suspended ? button("schedule-resume") : button("schedule-pause", "pause")}{button("backfill")}
      </div>
      <div class="row wide fold">
        <span class="figures">
          <Figure value={count(schedule.active.length)} label={s.counts.active} tone="run" />
          <Figure value={count(schedule.queue.length)} label={s.counts.queued} tone="queue" />
          <Figure value={count(schedule.missed)} label={s.counts.missed} {...(schedule.missed > 0 ? { tone: "warn" } : {})} />
          <Figure value={count(schedule.skipped)} label={s.counts.skipped} {...(schedule.skipped > 0 ? { tone: "skip" } : {})} />
        </span>
        <span class="grow" />
        <Facts facts={[
          [s.sources, <span class="mono">{schedule.sources.map((each) => <div><Data text={[each.text || each.name, each.timeZone ?? ""].filter((part) => part !== "").join(" ")} limit={200} /></div>)}</span>],
          ...(schedule.template ? [[s.template, <Data text={schedule.template} />] as [string, preact.JSX.Element]] : []),
          ...(schedule.concurrency ? [[s.concurrency, <Data text={schedule.concurrency} />] as [string, preact.JSX.Element]] : []),
        ]} />
      </div>
    </header>
  );
}

function NextTicks({ schedule }: { schedule: ScheduleDetail }) {
  if (schedule.next.length === 0) return <p class="soft">{s.noNext}</p>;
  return (
    <>
      {schedule.suspended ? <p class="soft">{s.pausedNext}</p> : null}
      <ol class="ticks">{schedule.next.map((at) => <li class="row"><span class="grow"><Moment at={at} /></span><span class="soft"><Ago at={at} /></span></li>)}</ol>
    </>
  );
}

function Queue({ schedule }: { schedule: ScheduleDetail }) {
  if (schedule.queue.length === 0) return <p class="soft">{s.noQueue}</p>;
  return <ol class="ticks">{schedule.queue.slice(0, 50).map((each) => <li class="row"><span class="grow clip"><Data text={each.text || each.source} limit={200} /></span><Moment at={each.at} /></li>)}</ol>;
}

function LatestRuns({ schedule }: { schedule: ScheduleDetail }) {
  const { columns, rows } = schedule.runs;
  if (rows.length === 0) return <p class="soft">{s.noRuns}</p>;
  const at = (name: string) => columns.indexOf(name);
  const [key, name, state, tone, started, created, duration] = ["key", "name", "state", "tone", "started", "created", "duration"].map(at) as [number, number, number, number, number, number, number];
  return (
    <ul class="ticks">
      {rows.slice(0, 20).map((row) => (
        <li class="row">
          <StateBadge state={String(row[state] ?? "")} tone={String(row[tone] ?? "idle")} />
          <a class="grow clip" href={href(runPath(String(row[key])))}><Data text={String(row[name] ?? "")} limit={253} /></a>
          <Moment at={(row[started] ?? row[created] ?? null) as number | null} /><span class="soft end took"><Duration seconds={(row[duration] ?? null) as number | null} /></span>
        </li>
      ))}
    </ul>
  );
}
