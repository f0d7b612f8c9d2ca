/** The page of one run: its header, why it stands where it stands, and its views. */
import type { ComponentType } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button, Empty, Loading, ProblemBox, Tabs } from "../../components/basics.tsx";
import { Icon } from "../../components/icons.tsx";
import { useCommands } from "../../core/commands.ts";
import { useHotkeys } from "../../core/hotkeys.ts";
import { href, location, navigate, runPath } from "../../core/router.ts";
import { RunStore } from "../../core/run_store.ts";
import { t } from "../../texts.en.ts";
import { r } from "../../texts/run.en.ts";
import { TaskPanel } from "../task/panel.tsx";
import { RunHeader } from "./header.tsx";
import { runTabs, type RunTab, type RunViewProps } from "./tabs.ts";

export default function Run() {
  const [, source, namespace, name, tabId] = location.value.path;
  const key = `${source}/${namespace}/${name}`;
  const store = useMemo(() => new RunStore(key), [key]);
  useEffect(() => () => store.close(), [store]);
  const tab = runTabs.find((each) => each.id === tabId) ?? (runTabs[0] as RunTab);
  useEffect(() => void tab.load().catch(() => undefined), [tab.id]); // while the run is read
  const tabHref = (each: RunTab) => href(runPath(key, each.id), { task: location.value.query.get("task") });
  useHotkeys(runTabs.map((each) => ({ keys: each.key, label: r.showTab(each.title), group: t.groups.view, run: () => navigate(tabHref(each)) })), [key, location.value]);
  useCommands(runTabs.map((each) => ({ id: `tab-${each.id}`, title: r.showTab(each.title), group: t.groups.view, keys: each.key, run: () => navigate(tabHref(each)) })), [key, location.value]);

  const problem = store.stream.problem.value;
  const head = store.head.value;
  if (head === null) {
    return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={store.stream.retry} /></div> : <Loading label={r.loading(name ?? "")} />;
  }
  const task = location.value.query.get("task");
  return (
    <div class="run">
      <div class="run-main">
        <RunHeader store={store} head={head} />
        <RunNotes store={store} />
        <Tabs label={r.tabsLabel} active={tab.id} tabs={runTabs.map((each) => ({ id: each.id, label: each.title, href: tabHref(each) }))} />
        <div class="run-view"><RunView tab={tab} store={store} /></div>
      </div>
      {task ? <TaskPanel key={task} store={store} instance={task} /> : null}
    </div>
  );
}

function RunNotes({ store }: RunViewProps) {
  const problem = store.stream.problem.value;
  if (store.gone.value) return <div class="note"><Icon name="warn" size={14} />{r.gone}</div>;
  if (problem) return <div class="page-pad"><ProblemBox problem={problem} onRetry={store.stream.retry} /></div>;
  return store.stream.status.value === "retrying" ? <div class="note"><Icon name="warn" size={14} />{r.reconnecting}</div> : null;
}

const loaded = new Map<string, ComponentType<RunViewProps>>();

function RunView({ tab, store }: { tab: RunTab; store: RunStore }) {
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (loaded.has(tab.id)) return;
    tab.load().then((module) => {
      loaded.set(tab.id, module.default);
      redraw((count) => count + 1);
    }, () => setFailed(true));
  }, [tab.id]);
  const View = loaded.get(tab.id);
  if (!View && failed) return <Empty title={t.updated}><Button kind="primary" label={t.reload} onClick={() => window.location.reload()} /></Empty>;
  return View ? <View key={`${tab.id} ${store.key}`} store={store} /> : <Loading />;
}
