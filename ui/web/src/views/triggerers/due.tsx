/** The waits that are due soonest: within the next hour first, the others after a line. */
import { Data } from "../../components/data.tsx";
import { Table, type Column } from "../../components/table.tsx";
import { Ago, Moment } from "../../components/time.tsx";
import type { DueWait } from "../../contract_lists.ts";
import { now } from "../../core/clock.ts";
import { href, navigate, runPath } from "../../core/router.ts";
import { w } from "../../texts/lists.en.ts";
import { dueUntil } from "./waits.ts";

const HOUR = 3600;

const link = (wait: DueWait) => href(runPath(wait.run), { task: wait.key });

const COLUMNS: Column<DueWait>[] = [
  { id: "at", title: w.dueColumns.at, width: "84px", cell: (wait) => <span class="strong"><Ago at={wait.at} /></span> },
  { id: "clock", title: w.dueColumns.clock, width: "122px", wideOnly: true, cell: (wait) => <span class="soft"><Moment at={wait.at} /></span> },
  { id: "task", title: w.dueColumns.task, width: "minmax(110px, 1fr)", cell: (wait) => <a href={link(wait)}><Data text={wait.key} limit={260} /></a> },
  { id: "run", title: w.dueColumns.run, width: "minmax(120px, 1.4fr)", cell: (wait) => <span><Data text={wait.runName ?? wait.run.split("/").at(-1)} limit={253} /> <span class="soft small"><Data text={wait.namespace} limit={80} /></span></span> },
  { id: "class", title: w.dueColumns.class, width: "minmax(90px, .8fr)", wideOnly: true, cell: (wait) => <span class="mono soft"><Data text={wait.class} limit={80} /></span> },
];

export function DueWaits({ due }: { due: DueWait[] }) {
  const soon = dueUntil(due, now.value + HOUR);
  const late = dueUntil(due, now.value).length;
  if (soon.length === 0) return <p class="soft panel-body">{w.noDue}</p>;
  return (
    <>
      <p class="due-count small soft">{w.dueCount(soon.length - late)}{late > 0 ? <span class="overdue"> · {w.late(late)}</span> : null}</p>
      <div class="due" style={{ height: `${Math.min(8, soon.length) * 30 + 36}px` }}>
        <Table label={w.due} rows={soon} columns={COLUMNS} rowKey={(wait) => `${wait.run} ${wait.key}`} version={due} onOpen={(wait) => navigate(link(wait))} />
      </div>
    </>
  );
}
