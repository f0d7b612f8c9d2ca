/** The header of a run: name, state, counts, pods now against waits now, and the causes. */
import { Figure } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { RunHead } from "../../contract.ts";
import { count } from "../../core/numbers.ts";
import { href, runPath } from "../../core/router.ts";
import type { RunStore } from "../../core/run_store.ts";
import { t } from "../../texts.en.ts";
import { r } from "../../texts/run.en.ts";
import { RunActs } from "./acts.tsx";
import { Why } from "./why.tsx";

export function RunHeader({ store, head }: { store: RunStore; head: RunHead }) {
  const status = store.stream.status.value;
  const archived = store.key.startsWith("archive/");
  return (
    <header class="run-head">
      <div class="row fold">
        <h1 class="clip"><Data text={head.name} /></h1>
        <StateBadge state={head.state} tone={head.tone} />
        {head.suspended ? <span class="chip"><Icon name="pause" size={12} />{r.suspended}</span> : null}
        <span class={`live ${archived ? "ended" : status}`}>{archived ? r.archived : t.live[status]}</span>
        <span class="grow" />
        <RunActs store={store} />
      </div>
      <div class="row wide fold run-facts">
        <span class="row"><span class="soft"><Data text={head.namespace} /></span></span>
        {head.template ? <a href={href("runs", { template: head.template })} class="fact-link"><span class="soft">{r.template}</span> <Data text={head.template} /></a> : null}
        {head.schedule ? <a href={href("runs", { schedule: head.schedule })} class="fact-link"><span class="soft">{r.schedule}</span> <Data text={head.schedule} /></a> : null}
        <span><span class="soft">{r.started}</span> <Moment at={head.started ?? head.created} /></span>
        <span><span class="soft">{head.completed === null ? r.runsFor : r.took}</span> <Duration seconds={seconds(head)} since={head.started ?? head.created} /></span>
        {head.previous ? <a href={href(runPath(head.previous))} class="fact-link">{r.previous}</a> : null}
      </div>
      <div class="run-now">
        <div class="run-figures">
          <Figure value={count(head.pods)} label={r.podsNow} tone="run" title={r.podsNowTitle} />
          <Figure value={count(head.waits)} label={r.waitsNow} tone="wait" title={r.waitsNowTitle} />
          <Figure value={head.progress || "–"} label={r.progress} />
          <Failed store={store} />
        </div>
        <section class="grow" aria-label={r.why}><Why causes={head.why} /></section>
      </div>
    </header>
  );
}

/** Leads to the failed instances, with the log of the first one beside them. */
function Failed({ store }: { store: RunStore }) {
  const { columns } = store.instances;
  const first = store.version.value >= 0 ? columns.tone.indexOf("bad") : -1;
  if (first === -1) return null;
  const state = columns.state[first];
  const failed = columns.state.filter((each) => each === state).length;
  const to = href(runPath(store.key, "grid"), { state, task: columns.key[first], part: "logs" });
  return <a class="figure-link" href={to} title={r.failedTitle}><Figure value={count(failed)} label={r.failed} tone="bad" /></a>;
}

function seconds(head: RunHead): number | null {
  const began = head.started ?? head.created;
  return head.completed === null || began === null ? null : head.completed - began;
}
