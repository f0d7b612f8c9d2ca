/** The panel of one instance beside the views of its run. `?part=` names the part that is shown. */
import { useEffect, useState } from "preact/hooks";
import { Button, Loading, ProblemBox, Tabs } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { Duration, Moment } from "../../components/time.tsx";
import { StateBadge } from "../../components/tone.tsx";
import type { Problem, TaskDetail } from "../../contract.ts";
import { plain } from "../../core/characters.ts";
import { asProblem, getJson } from "../../core/api.ts";
import { useHotkeys } from "../../core/hotkeys.ts";
import { size } from "../../core/numbers.ts";
import { hrefWith, location, setQuery } from "../../core/router.ts";
import { taskApi, type RunStore } from "../../core/run_store.ts";
import { store as keep, stored } from "../../core/storage.ts";
import { t } from "../../texts.en.ts";
import { k } from "../../texts/task.en.ts";
import { InstanceActs } from "../../acts/instance_acts.tsx";
import { Events } from "./events.tsx";
import { Logs } from "./logs.tsx";
import { Overview } from "./overview.tsx";
import { Result } from "./result.tsx";

const PARTS = ["overview", "logs", "result", "events", "yaml"] as const;
type Part = (typeof PARTS)[number];
const WIDE = "torpor.wide-panel";

export function TaskPanel({ store, instance }: { store: RunStore; instance: string }) {
  const { detail, problem, retry } = useDetail(store, instance);
  const asked = location.value.query.get("part") as Part;
  const part = PARTS.includes(asked) ? asked : "overview";
  const [wide, setWide] = useState(stored(WIDE) === "yes");
  const widen = () => {
    keep(WIDE, wide ? "no" : "yes");
    setWide(!wide);
  };
  const close = () => setQuery({ task: null, part: null });
  useHotkeys([{ keys: "Escape", label: t.close, group: t.groups.view, run: close }, { keys: "l", label: k.tabs.logs, group: t.groups.view, run: () => setQuery({ part: "logs" }) }], [location.value]);
  const row = currentRow(store, instance);
  const tabs = PARTS.map((each) => ({ id: each, label: k.tabs[each], href: hrefWith({ part: each === "overview" ? null : each }), ...(each === "result" && detail?.result.present ? { count: size(detail.result.size) } : {}) }));
  return (
    <aside class={`task-panel${wide ? " wide" : ""}`} aria-label={plain(k.label(instance))}>
      <header class="task-head stack">
        <div class="row"><h2 class="grow clip"><Data text={row?.label || detail?.label || instance} limit={260} /></h2>
          <Button kind="quiet" iconOnly icon={wide ? "right" : "left"} label={wide ? k.narrower : k.wider} onClick={widen} /><Button kind="quiet" iconOnly icon="close" label={t.close} onClick={close} />
        </div>
        {row ? (
          <div class="row fold small"><StateBadge state={row.state} tone={row.tone} />{row.started === null ? null : <><span class="soft">{k.started} <Moment at={row.started} /></span><span class="strong"><Duration seconds={row.duration} since={row.ended === null ? row.started : null} /></span></>}
            {row.node ? <span class="soft row"><Icon name="pod" size={12} /><Data text={row.node} limit={260} /></span> : null}</div>
        ) : null}
        {row?.message ? <p class="small wrap task-message"><Data text={row.message} limit={600} /></p> : null}
        {row ? <InstanceActs store={store} row={row} form={detail === null ? undefined : detail.trigger?.form ?? null} /> : null}
      </header>
      <Tabs label={k.tabsLabel} tabs={tabs} active={part} />
      <div class="task-body">
        {problem ? <ProblemBox problem={problem} onRetry={retry} /> : null}
        {detail === null ? problem ? null : <Loading /> : <PartBody part={part} store={store} detail={detail} />}
      </div>
    </aside>
  );
}

function PartBody({ part, store, detail }: { part: Part; store: RunStore; detail: TaskDetail }) {
  switch (part) {
    case "logs": return <Logs run={store.key} instance={detail.key} attempts={detail.attempts.map((each) => each.attempt)} containers={detail.containers ?? []} />;
    case "result": return <Result run={store.key} detail={detail} />;
    case "events": return <Events detail={detail} />;
    case "yaml": return <div class="stack wide panel-scroll"><h3>{k.taskrun}</h3><pre class="code"><Data text={detail.yaml.taskrun} limit={400_000} /></pre>{detail.yaml.pod ? <><h3>{k.pod}</h3><pre class="code"><Data text={detail.yaml.pod} limit={400_000} /></pre></> : null}</div>;
    default: return <Overview run={store.key} detail={detail} />;
  }
}

function currentRow(store: RunStore, instance: string) {
  const index = store.version.value >= 0 ? store.instances.index(instance) : -1;
  return index === -1 ? null : store.instances.row(index);
}

/** The details of the instance, fetched again when its state, attempt or segment changes. */
function useDetail(store: RunStore, instance: string): { detail: TaskDetail | null; problem: Problem | null; retry: () => void } {
  const [detail, setDetail] = useState<TaskDetail | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tries, setTries] = useState(0);
  const row = currentRow(store, instance);
  const signature = row ? `${row.state} ${row.attempt} ${row.segment} ${row.launch} ${row.reason}` : "";
  useEffect(() => {
    const controller = new AbortController();
    getJson<TaskDetail>(taskApi(store.key, instance), controller.signal).then((loaded) => {
      setDetail(loaded);
      setProblem(null);
    }, (error: unknown) => (controller.signal.aborted ? undefined : setProblem(asProblem(error))));
    return () => controller.abort();
  }, [store.key, instance, signature, tries]);
  return { detail, problem, retry: () => setTries(tries + 1) };
}
