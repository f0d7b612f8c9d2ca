/** The view Schedules: all of them, and one with its past, its next ticks and its runs. */
import { useMemo } from "preact/hooks";
import { CommandLine, Empty, Loading, ProblemBox, TextInput } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Table, type Column } from "../../components/table.tsx";
import { Ago, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { ScheduleRow } from "../../contract_lists.ts";
import { queryOf } from "../../core/api.ts";
import { usePolled } from "../../core/polled.ts";
import { href, location, navigate, pathOf, runPath, setQuery } from "../../core/router.ts";
import { namespaces } from "../../core/session.ts";
import { s } from "../../texts/lists.en.ts";
import { ScheduleState } from "./state.tsx";
import { SchedulePage } from "./schedule_page.tsx";

export default function Schedules() {
  const [, namespace, name] = location.value.path;
  return namespace && name ? <SchedulePage key={`${namespace}/${name}`} namespace={namespace} name={name} /> : <ScheduleList />;
}

function ScheduleList() {
  const polled = usePolled<ScheduleRow[]>(`api/schedules${queryOf({ ns: namespaces.value.join(",") })}`, 15);
  const text = location.value.query.get("text") ?? "";
  const rows = useMemo(() => (polled.value ?? []).filter((row) => `${row.namespace} ${row.name} ${row.template ?? ""}`.toLowerCase().includes(text.toLowerCase())), [polled.value, text]);
  const { value, problem, again } = polled;
  if (value === null) return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : <Loading />;
  if (value.length === 0) return <Empty title={s.empty}><p>{s.emptyHelp}</p><CommandLine command={s.emptyCommand} /></Empty>;
  return (
    <div class="fill">
      <h1 class="sr">{s.label}</h1>
      <div class="toolbar row fold"><TextInput type="search" label={s.find} placeholder={s.find} icon="search" value={text} onInput={(next) => setQuery({ text: next || null })} /></div>
      {problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : null}
      {rows.length === 0 ? <Empty title={s.none} /> : (
        <Table label={s.label} rows={rows} columns={COLUMNS} rowKey={(row) => `${row.namespace}/${row.name}`} version={value} onOpen={(row) => navigate(href(pathOf("schedules", row.namespace, row.name)))} />
      )}
    </div>
  );
}

const some = (count: number) => (count === 0 ? <span class="soft">–</span> : <span>{count}</span>);

const COLUMNS: Column<ScheduleRow>[] = [
  { id: "name", title: s.columns.name, width: "minmax(150px, 1.4fr)", cell: (row) => <span><a href={href(pathOf("schedules", row.namespace, row.name))}><Data text={row.name} limit={120} /></a> <span class="soft small"><Data text={row.namespace} limit={80} /></span></span> },
  { id: "state", title: s.columns.state, width: "104px", cell: (row) => <ScheduleState row={row} /> },
  { id: "sources", title: s.columns.sources, width: "minmax(120px, 1fr)", wideOnly: true, cell: (row) => <span class="mono"><Data text={row.sources.map((each) => each.text || each.name).join(", ")} limit={120} /></span> },
  { id: "next", title: s.columns.next, width: "minmax(96px, 150px)", cell: (row) => (row.suspended || row.next.length === 0 ? <span class="soft">–</span> : <Ago at={row.next[0]} />) },
  { id: "last", title: s.columns.last, width: "minmax(120px, 210px)", cell: (row) => <LastRun row={row} /> },
  { id: "active", title: s.columns.active, width: "56px", align: "end", wideOnly: true, cell: (row) => some(row.active.length) },
  { id: "queue", title: s.columns.queue, width: "60px", align: "end", wideOnly: true, cell: (row) => some(row.queue.length) },
  { id: "missed", title: s.columns.missed, width: "60px", align: "end", wideOnly: true, cell: (row) => some(row.missed) },
  { id: "skipped", title: s.columns.skipped, width: "64px", align: "end", wideOnly: true, cell: (row) => some(row.skipped) },
];

function LastRun({ row }: { row: ScheduleRow }) {
  if (row.last === null) return <span class="soft">–</span>;
  return (
    <span class="row">
      {row.lastState ? <StateBadge state={row.lastState} tone={row.lastTone} quiet /> : null}
      {row.lastRun ? <a href={href(runPath(row.lastRun))}><Moment at={row.last} /></a> : <Moment at={row.last} />}
    </span>
  );
}
