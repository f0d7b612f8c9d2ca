/** The list of runs, live and archived: filters in the address, durations of the last ones, and ten thousand rows. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { openAct } from "../../acts/open.ts";
import { Button, CommandLine, Empty, Loading, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { Table, type Sort } from "../../components/table.tsx";
import { useCommands } from "../../core/commands.ts";
import { serverNow } from "../../core/clock.ts";
import { useHotkeys } from "../../core/hotkeys.ts";
import { count } from "../../core/numbers.ts";
import { href, location, navigate, runPath, setQuery } from "../../core/router.ts";
import { namespaces } from "../../core/session.ts";
import { a } from "../../texts/acts.en.ts";
import { t } from "../../texts.en.ts";
import { u } from "../../texts/runs.en.ts";
import { columnsFor, sorted } from "./columns.tsx";
import { FilterBar } from "./filter_bar.tsx";
import { isFiltered, NO_FILTERS, readFilters, requestQuery, writeFilters, type Filters } from "./filters.ts";
import { RunListStore, type Run } from "./run_list.ts";
import { Trend } from "./trend.tsx";

const NEWEST: Sort = { column: "created", descending: true };

export default function Runs() {
  const filters = readFilters(location.value.query);
  const store = useRunList(filters);
  const [sort, setSort] = useState(NEWEST);
  const shown = useMemo(() => sorted(store.runs.value, sort), [store.runs.value, sort]);
  const open = (run: Run) => navigate(href(runPath(run.key)));
  const change = (changed: Partial<Filters>) => setQuery(writeFilters({ ...filters, ...changed }), { replace: false });
  const columns = useMemo(() => columnsFor(change), [location.value]);
  const focus = () => document.getElementById("run-search")?.focus();
  useHotkeys([{ keys: "/", label: u.focusSearch, group: t.groups.view, run: focus }]);
  useCommands([
    { id: "runs-clear", title: u.clearAll, group: t.groups.view, run: () => setQuery(writeFilters(NO_FILTERS)) },
    { id: "act-submit", title: `${a.acts.submit.button} ${a.acts.submit.title}`, group: t.groups.runs, run: () => void openAct({ act: "submit", subject: "", body: {}, namespaces: namespaces.value }) },
    { id: "runs-failed", title: u.suggested.failed, group: t.groups.view, run: () => setQuery(writeFilters({ ...NO_FILTERS, states: ["Failed"], since: "24h" })) },
  ]);
  const problem = store.problem.value ?? store.stream?.problem.value ?? null;
  return (
    <div class="runs">
      <h1 class="sr">{t.views.runs}</h1>
      <FilterBar filters={filters} runs={store.runs.value} onChange={change} />
      {store.notes.value.map((note) => <div class="note" key={note}><Icon name="warn" size={14} /><Data text={note} limit={500} /></div>)}
      {problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={store.stream?.retry} /></div> : null}
      <Summary store={store} runs={store.runs.value} sort={sort} />
      {store.loading.value ? <Loading /> : shown.length === 0 ? <Nothing filtered={isFiltered(filters)} /> : (
        <Table label={u.title} rows={shown} columns={columns} rowKey={(run) => run.key} sort={sort} onSort={setSort} onOpen={open} onEnd={store.loadMore} />
      )}
    </div>
  );
}

/** The list for the filters; a change of them closes it and opens another, once the typing rests. */
function useRunList(filters: Filters): RunListStore {
  const wanted = JSON.stringify([filters, namespaces.value]);
  const [settled, setSettled] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), 200);
    return () => clearTimeout(timer);
  }, [wanted]);
  const store = useMemo(() => {
    const [chosen, names] = JSON.parse(settled) as [Filters, string[]];
    return new RunListStore(requestQuery(chosen, names, serverNow()), chosen.source);
  }, [settled]);
  useEffect(() => () => store.close(), [store]);
  return store;
}

function Summary({ store, runs, sort }: { store: RunListStore; runs: Run[]; sort: Sort }) {
  const totals = useMemo(() => ({ pods: sum(runs, (run) => run.running), waits: sum(runs, (run) => run.waiting) }), [runs]);
  const partial = store.more.value && (sort.column !== "created" || !sort.descending);
  return (
    <div class="runs-summary">
      <div class="stack runs-counts">
        <div class="row"><span class="strong">{u.shown(count(runs.length), store.more.value)}</span>{store.stream ? <span class={`live ${store.stream.status.value}`}>{t.live[store.stream.status.value]}</span> : null}</div>
        <div class="row small"><span class="dot area tone-run" />{count(totals.pods)} {u.pods}<span class="dot area tone-wait" />{count(totals.waits)} {u.waits}</div>
        {partial ? <div class="soft tiny">{u.sortedPart}</div> : null}
      </div>
      <Trend runs={runs} />
    </div>
  );
}

function sum(runs: Run[], value: (run: Run) => number): number {
  return runs.reduce((total, run) => total + value(run), 0);
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title={u.emptyFilters}><p>{u.emptyFiltersText}</p><div><Button label={u.clearAll} onClick={() => setQuery(writeFilters(NO_FILTERS))} /></div></Empty>;
  return <Empty title={u.emptyTitle}><p>{u.emptyText}</p><CommandLine command={u.emptyCommand} /><p>{u.emptyElsewhere}</p></Empty>;
}
