/** The columns of the list of runs. */
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import type { Column, Sort } from "../../components/table.tsx";
import { Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import { scaled } from "../../core/numbers.ts";
import { href, runPath } from "../../core/router.ts";
import { u } from "../../texts/runs.en.ts";
import type { Filters } from "./filters.ts";
import type { Run } from "./run_list.ts";

export function columnsFor(change: (filters: Partial<Filters>) => void): Column<Run>[] {
  return [
    { id: "state", title: u.columns.state, width: "118px", sortable: true, cell: (run) => <StateBadge state={run.state} tone={run.tone} /> },
    { id: "name", title: u.columns.name, width: "minmax(110px, 2.4fr)", sortable: true, cell: (run) => <Name run={run} /> },
    { id: "namespace", title: u.columns.namespace, width: "minmax(70px, .8fr)", sortable: true, wideOnly: true, cell: (run) => <span class="soft"><Data text={run.namespace} /></span> },
    { id: "progress", title: u.columns.progress, width: "110px", wideOnly: true, cell: (run) => <Progress run={run} /> },
    { id: "now", title: u.columns.now, width: "96px", sortable: true, wideOnly: true, cell: (run) => <Now run={run} /> },
    { id: "created", title: u.columns.created, width: "128px", sortable: true, wideOnly: true, cell: (run) => <span class="soft"><Moment at={run.created} /></span> },
    { id: "duration", title: u.columns.duration, width: "82px", align: "end", sortable: true, cell: (run) => <Duration seconds={run.duration} since={run.completed === null ? run.started : null} /> },
    { id: "template", title: u.columns.template, width: "minmax(90px, 1fr)", sortable: true, wideOnly: true, cell: (run) => <Filter value={run.template} onClick={() => change({ template: run.template })} /> },
    { id: "schedule", title: u.columns.schedule, width: "minmax(90px, 1fr)", sortable: true, wideOnly: true, cell: (run) => <Filter value={run.schedule} onClick={() => change({ schedule: run.schedule })} /> },
  ];
}

function Name({ run }: { run: Run }) {
  return (
    <span class="row"><a class="clip run-name" href={href(runPath(run.key))} tabIndex={-1}><Data text={run.name} limit={260} /></a>
      {run.source === "archive" ? <span class="soft" title={u.archivedMark}><Icon name="table" size={12} /><span class="sr">{u.archivedMark}</span></span> : null}
      {run.message ? <span class="soft small clip grow"><Data text={run.message} limit={300} /></span> : null}
    </span>
  );
}

/** A value that filters the list by itself. */
function Filter({ value, onClick }: { value: string; onClick: () => void }) {
  return value ? <button type="button" class="cell-filter clip" tabIndex={-1} onClick={onClick}><Data text={value} limit={260} /></button> : null;
}

function Progress({ run }: { run: Run }) {
  const match = /^(\d+)\/(\d+)$/.exec(run.progress);
  if (!match) return <span class="soft"><Data text={run.progress} limit={40} /></span>;
  const [done, total] = [Number(match[1]), Number(match[2])];
  return <span class="row progress"><span class="meter"><span class={`meter-part tone-${run.tone}`} style={{ width: `${total === 0 ? 0 : (100 * done) / total}%` }} /></span><span class="soft tiny">{run.progress}</span></span>;
}

function Now({ run }: { run: Run }) {
  if (run.running === 0 && run.waiting === 0) return null;
  return <span class="row small" title={u.nowTitle(run.running, run.waiting)}><span class="dot area tone-run" />{scaled(run.running)}<span class="dot area tone-wait" />{scaled(run.waiting)}</span>;
}

type Key = string | number;
const KEYS: Record<string, (run: Run) => Key> = {
  state: (run) => run.state, name: (run) => run.name, namespace: (run) => run.namespace, now: (run) => run.running + run.waiting, created: (run) => run.created ?? 0,
  duration: (run) => run.duration ?? (run.started === null ? -1 : Date.now() / 1000 - run.started), template: (run) => run.template, schedule: (run) => run.schedule,
};

/** Returns the runs in an order; they come with the newest first. */
export function sorted(runs: Run[], sort: Sort): Run[] {
  if (sort.column === "created" && sort.descending) return runs;
  const key = KEYS[sort.column] ?? (() => 0);
  const keys = new Map(runs.map((run) => [run, key(run)]));
  const sign = sort.descending ? -1 : 1;
  return [...runs].sort((a, b) => {
    const [one, other] = [keys.get(a) as Key, keys.get(b) as Key];
    return one < other ? -sign : one > other ? sign : 0;
  });
}
