/** The view Triggerers: who serves the waits, what they wait for, what is due, and what holds the loops up. */
import { Empty, Figure, Loading, Panel, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Notes } from "../../components/notes.tsx";
import { Ago } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { Replica, Triggerers as Answer } from "../../contract_lists.ts";
import { queryOf } from "../../core/api.ts";
import { count } from "../../core/numbers.ts";
import { usePolled } from "../../core/polled.ts";
import { namespaces } from "../../core/session.ts";
import { duration } from "../../core/times.ts";
import { w } from "../../texts/lists.en.ts";
import { Bars } from "./bars.tsx";
import { DueWaits } from "./due.tsx";

const LAG_WARNS = 0.05;

export default function Triggerers() {
  const { value, problem, again } = usePolled<Answer>(`api/triggerers${queryOf({ ns: namespaces.value.join(",") })}`, 5);
  if (value === null) return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : <Loading />;
  return (
    <div class="page-pad scroll">
      <h1 class="sr">{w.label}</h1>
      {problem ? <ProblemBox problem={problem} onRetry={again} /> : null}
      <Notes notes={value.notes} />
      <Figures answer={value} />
      <Panel title={w.due} flush><DueWaits due={value.due} /></Panel>
      <Panel title={w.replicas} flush>{value.replicas.length === 0 ? <Empty title={w.noReplicas} /> : <Replicas replicas={value.replicas} />}</Panel>
      <div class="panels three">
        <Panel title={w.byClass}><Bars label={w.byClass} tallies={value.waits.byClass} /></Panel>
        <Panel title={w.byHost}><Bars label={w.byHost} tallies={value.waits.byHost} /></Panel>
        <Panel title={w.byAge}><Bars label={w.byAge} tallies={value.waits.byAge} inOrder /></Panel>
      </div>
      <div class="panels">
        <Panel title={w.shared}><Shared answer={value} /></Panel>
        <Panel title={w.blamed}><Blamed answer={value} /></Panel>
      </div>
    </div>
  );
}

function Figures({ answer }: { answer: Answer }) {
  const waits = answer.waits.byClass.reduce((sum, [, each]) => sum + each, 0);
  const ready = answer.replicas.filter((replica) => replica.ready).length;
  const lags = answer.replicas.map((replica) => replica.loopLag).filter((lag) => lag !== null);
  const most = lags.length === 0 ? null : Math.max(...lags);
  return (
    <div class="figures">
      <Figure value={count(waits)} label={w.figures.waits} tone="wait" />
      <Figure value={`${ready}/${answer.replicas.length}`} label={w.figures.replicas} {...(ready < answer.replicas.length || ready === 0 ? { tone: "bad" } : {})} />
      <Figure value={most === null ? "–" : duration(most)} label={w.figures.lag} title={w.lagTitle} {...(most !== null && most > LAG_WARNS ? { tone: "warn" } : {})} />
    </div>
  );
}

function Replicas({ replicas }: { replicas: Replica[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={w.replicas}>
      <table class="plain-table">
        <thead><tr><th>{w.columns.replica}</th><th>{w.columns.pool}</th><th>{w.columns.ready}</th><th class="end">{w.columns.shards}</th><th class="end">{w.columns.waits}</th><th class="end">{w.columns.lag}</th><th>{w.columns.renewed}</th></tr></thead>
        <tbody>
          {replicas.map((replica) => (
            <tr key={`${replica.pool} ${replica.name}`}>
              <td><Data text={replica.name} limit={120} /></td><td><Data text={replica.pool} limit={80} /></td>
              <td>{replica.ready ? <StateBadge state={w.ready} tone="ok" quiet /> : <StateBadge state={w.notReady} tone="bad" quiet />}</td>
              <td class="end">{count(replica.shards)}</td><td class="end">{count(replica.waits)}</td>
              <td class="end">{replica.loopLag === null ? "–" : duration(replica.loopLag)}</td><td><Ago at={replica.renewed} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Shared({ answer }: { answer: Answer }) {
  if (answer.shared.length === 0) return <p class="soft">{w.noShared}</p>;
  return (
    <div class="stack">
      <p class="soft small">{w.sharedHelp}</p>
      <ul class="ticks">{answer.shared.slice(0, 20).map((each) => <li class="row"><span class="soft mono"><Data text={each.class} limit={80} /></span><span class="grow clip"><Data text={each.subject} limit={300} /></span><span>{w.sharedCount(each.waits)}</span></li>)}</ul>
    </div>
  );
}

function Blamed({ answer }: { answer: Answer }) {
  if (answer.blamed.length === 0) return <p class="soft">{w.noBlamed}</p>;
  return (
    <ul class="ticks">
      {answer.blamed.slice(0, 20).map((each) => (
        <li class="row"><span class="mono"><Data text={each.class} limit={80} /></span><span class="soft"><Data text={each.namespace} limit={80} /></span><span class="grow clip"><Data text={each.subject || each.reason} limit={300} /></span><span class="strong">{duration(each.seconds)}</span><span class="soft"><Ago at={each.since} /></span></li>
      ))}
    </ul>
  );
}
