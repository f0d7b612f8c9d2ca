/** The columns of the grid. A cell reads the columns of the run; there are no objects for rows. */
import { Data } from "../../components/data.tsx";
import type { Column } from "../../components/table.tsx";
import { Ago, Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { Instances } from "../../core/instances.ts";
import { plain } from "../../core/characters.ts";
import { gr } from "../../texts/graph.en.ts";

export function gridColumns(instances: Instances, now: () => number, selected: ReadonlySet<string>, select: (key: string, range: boolean) => void): Column<number>[] {
  const c = instances.columns;
  const box = (row: number) => {
    const key = c.key[row] as string;
    return <input type="checkbox" tabIndex={-1} aria-label={`${gr.select} ${plain(c.label[row] ?? key)}`} checked={selected.has(key)} onClick={(event) => select(key, event.shiftKey)} />;
  };
  return [
    { id: "select", title: gr.select, hideTitle: true, width: "16px", cell: box },
    { id: "label", title: gr.columns.instance, width: "minmax(160px, 1.6fr)", sortable: true, cell: (row) => <Data text={c.label[row]} limit={200} /> },
    { id: "state", title: gr.columns.state, width: "minmax(110px, 150px)", sortable: true, cell: (row) => <StateBadge state={c.state[row] ?? ""} tone={c.tone[row]} /> },
    { id: "message", title: gr.columns.message, width: "minmax(140px, 2.4fr)", cell: (row) => <span class="soft"><Data text={c.message[row] || c.reason[row]} limit={300} /></span> },
    { id: "attempt", title: gr.columns.attempt, width: "64px", align: "end", sortable: true, wideOnly: true, cell: (row) => ((c.attempt[row] ?? 0) > 0 ? String(c.attempt[row]) : "–") },
    { id: "started", title: gr.columns.started, width: "118px", sortable: true, wideOnly: true, cell: (row) => <Moment at={c.started[row]} /> },
    { id: "duration", title: gr.columns.duration, width: "78px", align: "end", sortable: true, cell: (row) => took(instances, row, now) },
    { id: "waitUntil", title: gr.columns.wait, width: "110px", sortable: true, wideOnly: true, cell: (row) => <Ago at={c.waitUntil[row]} /> },
    { id: "node", title: gr.columns.node, width: "minmax(80px, 130px)", sortable: true, wideOnly: true, cell: (row) => <Data text={c.node[row] || "–"} limit={80} /> },
  ];
}

function took(instances: Instances, row: number, now: () => number) {
  const { duration, ended } = instances.columns;
  const known = duration[row] ?? null;
  // A running instance counts on; reading the clock only then keeps the other rows still.
  return <Duration seconds={known ?? (ended[row] === null ? instances.seconds(row, now()) : null)} />;
}
