/** The timeline as a table: the same rows for screen readers, and for people who want numbers. */
import { useMemo, useState } from "preact/hooks";
import { Data } from "../../components/data.tsx";
import { Table, type Column, type Sort } from "../../components/table.tsx";
import { Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { Interval, Phase } from "../../contract.ts";
import type { Instances } from "../../core/instances.ts";
import { l } from "../../texts/timeline.en.ts";
import type { TimelineRow } from "./rows.ts";

/** Seconds of an instance in phases. Pure. */
export function secondsIn(intervals: Interval[], phases: readonly Phase[], now: number): number {
  return intervals.reduce((sum, each) => (phases.includes(each[0]) ? sum + Math.max(0, (each[2] ?? now) - each[1]) : sum), 0);
}

type InstanceEntry = Extract<TimelineRow, { kind: "instance" }>;

export function TimelineTable({ rows, instances, now, version, selected, onOpen }: { rows: TimelineRow[]; instances: Instances; now: number; version: number; selected: string; onOpen: (row: TimelineRow) => void }) {
  const [sort, setSort] = useState<Sort | undefined>(undefined);
  const flat = useMemo(() => rows.flatMap((row): InstanceEntry[] => (row.kind === "instance" ? [row] : row.unfolded ? [] : row.members.map((index) => ({ kind: "instance", key: instances.columns.key[index] ?? "", label: instances.columns.label[index] ?? "", index, inside: true })))), [rows]);
  const first = (row: InstanceEntry) => instances.intervals(row.index)[0]?.[1] ?? null;
  const keys: Record<string, (row: InstanceEntry) => number | string> = {
    label: (row) => row.label, state: (row) => instances.columns.state[row.index] ?? "", start: (row) => first(row) ?? 0, end: (row) => instances.columns.ended[row.index] ?? Number.POSITIVE_INFINITY,
    queued: (row) => secondsIn(instances.intervals(row.index), ["queued", "starting"], now), running: (row) => secondsIn(instances.intervals(row.index), ["running"], now), waiting: (row) => secondsIn(instances.intervals(row.index), ["waiting", "backing off"], now), attempts: (row) => instances.columns.attempt[row.index] ?? 1,
  };
  const shown = useMemo(() => {
    const key = sort ? keys[sort.column] : undefined;
    if (!sort || !key) return flat;
    const sign = sort.descending ? -1 : 1;
    return [...flat].sort((a, b) => { const [one, other] = [key(a), key(b)]; return one < other ? -sign : one > other ? sign : 0; });
  }, [flat, sort]);
  const length = (phases: readonly Phase[]) => (row: InstanceEntry) => <Duration seconds={secondsIn(instances.intervals(row.index), phases, now) || null} />;
  const columns: Column<InstanceEntry>[] = [
    { id: "label", title: l.columns.instance, width: "minmax(150px, 2fr)", sortable: true, cell: (row) => <Data text={row.label} limit={200} /> },
    { id: "state", title: l.columns.state, width: "120px", sortable: true, cell: (row) => <StateBadge state={instances.columns.state[row.index] ?? ""} tone={instances.tone(row.index)} /> },
    { id: "start", title: l.columns.start, width: "120px", sortable: true, wideOnly: true, cell: (row) => <Moment at={first(row)} /> },
    { id: "end", title: l.columns.end, width: "120px", sortable: true, wideOnly: true, cell: (row) => <Moment at={instances.columns.ended[row.index]} /> },
    { id: "queued", title: l.columns.queued, width: "90px", align: "end", sortable: true, wideOnly: true, cell: length(["queued", "starting"]) },
    { id: "running", title: l.columns.running, width: "90px", align: "end", sortable: true, cell: length(["running"]) },
    { id: "waiting", title: l.columns.waiting, width: "90px", align: "end", sortable: true, cell: length(["waiting", "backing off"]) },
    { id: "attempts", title: l.columns.attempts, width: "80px", align: "end", sortable: true, wideOnly: true, cell: (row) => instances.columns.attempt[row.index] ?? 1 },
  ];
  return <Table label={l.label} rows={shown} columns={columns} rowKey={(row) => row.key} sort={sort} onSort={setSort} onOpen={onOpen} current={selected} version={version} />;
}
