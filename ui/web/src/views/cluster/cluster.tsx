/** The view Cluster: pods saved by waiting, pods now against waits now, runs by state, slots, pools and quotas. */
import { Chart } from "../../components/chart.tsx";
import { Figure, Loading, Panel, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Notes } from "../../components/notes.tsx";
import type { Cluster as Answer } from "../../contract_lists.ts";
import { queryOf } from "../../core/api.ts";
import { count, scaled } from "../../core/numbers.ts";
import { usePolled } from "../../core/polled.ts";
import { href } from "../../core/router.ts";
import { namespaces } from "../../core/session.ts";
import { c } from "../../texts/lists.en.ts";
import { Gauge } from "./gauge.tsx";

export default function Cluster() {
  const { value, problem, again } = usePolled<Answer>(`api/cluster${queryOf({ ns: namespaces.value.join(",") })}`, 10);
  if (value === null) return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : <Loading />;
  return (
    <div class="page-pad scroll">
      <h1 class="sr">{c.label}</h1>
      {problem ? <ProblemBox problem={problem} onRetry={again} /> : null}
      <Notes notes={value.notes} />
      <section class="panel saved">
        <div class="saved-main"><span class="saved-value">{scaled(Math.round(value.saved.podHours))}</span><span>{c.saved}</span><span class="soft small">{c.savedHelp}</span></div>
        <Figure value={count(value.saved.now)} label={c.savedNow} tone="ok" />
        <Figure value={count(value.pods)} label={c.pods} tone="run" />
        <Figure value={count(value.waits)} label={c.waits} tone="wait" />
      </section>
      <Panel title={c.history}><History answer={value} /></Panel>
      <div class="panels">
        <Panel title={c.runs}><RunStates runs={value.runs} /></Panel>
        <Panel title={c.slots}>
          {value.slots.length === 0 ? <p class="soft">{c.noSlots}</p> : (
            <ul class="stack">{value.slots.map((each) => <li><Gauge name={each.name} namespace={each.namespace} used={each.used} size={each.size} note={each.queued > 0 ? c.queued(each.queued) : ""} /></li>)}</ul>
          )}
        </Panel>
        <Panel title={c.quotas}>
          {value.quotas.length === 0 ? <p class="soft">{c.noQuotas}</p> : <ul class="stack">{value.quotas.map((each) => <li><Gauge name={each.resource} namespace={each.namespace} used={each.used} size={each.hard} note="" /></li>)}</ul>}
        </Panel>
        {value.pools && value.pools.length > 0 ? (
          <Panel title={c.pools}><ul class="ticks">{value.pools.map((pool) => <li class="row"><span class="grow clip"><Data text={pool.name} limit={120} /></span><span class="soft">{c.poolLine(pool.ready, pool.replicas, pool.waits)}</span></li>)}</ul></Panel>
        ) : null}
      </div>
    </div>
  );
}

function History({ answer }: { answer: Answer }) {
  const { t, pods, waits } = answer.history;
  if (t.length < 2) return <p class="soft">{c.noHistory}</p>;
  return (
    <Chart label={c.history} times={t} height={200} series={[
      { label: c.waitsSeries, token: "--tone-wait", values: waits, fill: true, dash: [5, 4], stepped: true },
      { label: c.podsSeries, token: "--tone-run", values: pods, fill: true, stepped: true },
    ]} />
  );
}

function RunStates({ runs }: { runs: Record<string, number> }) {
  const states = Object.entries(runs).filter(([, each]) => each > 0);
  if (states.length === 0) return <p class="soft">{c.noRuns}</p>;
  return <ul class="ticks">{states.map(([state, each]) => <li class="row"><a class="grow" href={href("runs", { state })}><Data text={state} limit={60} /></a><span class="strong">{count(each)}</span></li>)}</ul>;
}
