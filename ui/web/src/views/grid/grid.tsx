/** The view Grid of a run: all instances, filtered by state, task, node, duration and text; several can be retried at once. */
import { useMemo, useRef, useState } from "preact/hooks";
import { Button, Empty } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import { now } from "../../core/clock.ts";
import { location, setQuery } from "../../core/router.ts";
import { gr } from "../../texts/graph.en.ts";
import type { RunViewProps } from "../run/tabs.ts";
import { gridColumns } from "./columns.tsx";
import { filterRows, type GridSort } from "./filter.ts";
import { GridFilters, filterOf } from "./filters.tsx";
import { Selection } from "./selection.tsx";
import { rangeOf } from "./ranges.ts";

export default function Grid({ store }: RunViewProps) {
  const query = location.value.query;
  const version = store.version.value;
  const instances = store.instances;
  const columns = instances.columns;
  const filter = useMemo(() => filterOf(query), [query]);
  const sort = useMemo(() => sortOf(query), [query]);
  const rows = useMemo(() => filterRows(columns, filter, sort), [instances, version, filter, sort]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const lastSelected = useRef("");
  const select = (key: string, range: boolean) => {
    setSelected(range ? new Set([...selected, ...rangeOf(rows, columns.key, lastSelected.current, key)]) : toggled(selected, key));
    lastSelected.current = key;
  };
  const table = useMemo(() => gridColumns(instances, () => now.value, selected, select), [instances, version, selected, rows]);
  const chosen = useMemo(() => [...selected].filter((key) => instances.index(key) !== -1), [selected, version]);
  return (
    <div class="grid-view fill">
      <GridFilters columns={columns} filter={filter} version={version} />
      <div class="toolbar row fold grid-count">
        <span class="soft small" role="status">{gr.shown(rows.length, columns.key.length)}</span>
        {rows.length > 0 ? <Button kind="quiet" label={gr.selectAll} onClick={() => setSelected(new Set([...rows].map((row) => columns.key[row] as string)))} /> : null}
        <span class="grow" />
        {chosen.length > 0 ? <Selection store={store} keys={chosen} onClear={() => setSelected(new Set())} /> : null}
      </div>
      {rows.length === 0 ? <Empty title={gr.none}><p>{gr.noneHelp}</p><Button label={gr.reset} onClick={() => setQuery(NOTHING)} /></Empty> : (
        <Table label={gr.label} rows={rows} columns={table} rowKey={(row) => columns.key[row] as string} version={version} selected={selected} onSelect={select}
          current={query.get("task") ?? undefined} onOpen={(row) => setQuery({ task: columns.key[row] })}
          sort={sort ? { column: sort.column, descending: sort.down } : undefined} onSort={(next) => setQuery({ sort: `${next.descending ? "-" : ""}${next.column}` })} />
      )}
    </div>
  );
}

const NOTHING = { state: null, of: null, node: null, longer: null, text: null };
const SORTABLE = new Set(["label", "state", "attempt", "started", "duration", "node", "waitUntil"]);

function sortOf(query: URLSearchParams): GridSort | null {
  const text = query.get("sort") ?? "";
  const column = text.replace(/^-/, "");
  return SORTABLE.has(column) ? { column: column as GridSort["column"], down: text.startsWith("-") } : null;
}

function toggled(selected: ReadonlySet<string>, key: string): Set<string> {
  const next = new Set(selected);
  if (!next.delete(key)) next.add(key);
  return next;
}
