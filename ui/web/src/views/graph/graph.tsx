/** The view Graph of a run: tasks as boxes from left to right, groups nested and folded, mapped tasks as one box with counts. */
import { useMemo, useState } from "preact/hooks";
import { accessOf } from "../../acts/access.ts";
import { ActButton } from "../../acts/button.tsx";
import { openAct } from "../../acts/open.ts";
import { refusal, type ActRequest } from "../../acts/request.ts";
import { Empty } from "../../components/basics.tsx";
import { plain } from "../../core/characters.ts";
import { useHotkeys } from "../../core/hotkeys.ts";
import { location, setQuery } from "../../core/router.ts";
import { session } from "../../core/session.ts";
import { t } from "../../texts.en.ts";
import { g } from "../../texts/graph.en.ts";
import type { RunViewProps } from "../run/tabs.ts";
import { Canvas } from "./canvas.tsx";
import { layoutGraph } from "./layout.ts";
import { buildGraph, foldedAtFirst, groupNames, mostUrgent, shapeKey, toneShares } from "./model.ts";
import { Toolbar } from "./toolbar.tsx";
import { usePanZoom } from "./pan_zoom.ts";

export default function Graph({ store }: RunViewProps) {
  const tasks = store.tasks.value;
  const edges = store.edges.value;
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => foldedAtFirst(tasks));
  const version = store.version.value;
  const shares = useMemo(() => toneShares(store.instances.columns), [store, version]);
  const model = useMemo(() => buildGraph(tasks, edges, folded, shares), [tasks, edges, folded, shares]);
  const shape = shapeKey(model);
  const layout = useMemo(() => layoutGraph(model), [shape]);
  const view = usePanZoom(layout.width, layout.height, layout.rects.get(mostUrgent(model)));
  const critical = useMemo(() => criticalTasks(store.critical.value), [store.critical.value]);
  const groups = useMemo(() => groupNames(tasks), [tasks]);
  const [active, setActive] = useState("");
  const task = active.startsWith("task:") ? active.slice(5) : "";
  const clear: ActRequest = { act: "clear", subject: plain(task), body: { runs: [store.key], tasks: [task] } };
  const access = accessOf(store.head.value?.namespace, store.acts.value);
  const refused = task === "" ? g.chooseTask : refusal(access, "clear", session.value?.readOnly ?? false);
  const fold = (name: string) => setFolded(toggled(folded, name));
  const open = (name: string) => setQuery({ task: instanceOf(store.instances.columns, name) });
  useHotkeys([
    { keys: "c", label: g.clear(plain(task)), group: t.groups.view, run: () => (refused ? undefined : void openAct(clear)) },
    { keys: "0", label: g.fit, group: t.groups.view, run: view.fit },
    { keys: "+", label: g.zoomIn, group: t.groups.view, run: () => view.zoom(1.25) },
    { keys: "-", label: g.zoomOut, group: t.groups.view, run: () => view.zoom(0.8) },
  ], [view, active, refused]);
  if (tasks.length === 0) return <Empty title={g.empty} />;
  const current = (location.value.query.get("task") ?? "").split("/")[0] ?? "";
  return (
    <div class="graph">
      <Toolbar groups={groups} folded={folded} onFold={setFolded} view={view} critical={critical.size > 0}>
        {task ? <ActButton request={clear} access={access} icon="refresh" label={g.clear(plain(task))} /> : null}
      </Toolbar>
      <Canvas model={model} layout={layout} view={view} critical={critical} current={current} active={active} onActive={setActive} onOpen={open} onFold={fold} />
    </div>
  );
}

function toggled(folded: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(folded);
  if (!next.delete(name)) next.add(name);
  return next;
}

function criticalTasks(keys: readonly string[]): Set<string> {
  return new Set(keys.map((key) => key.split("/")[0] ?? key));
}

/** The instance that a click on a task opens: the one that needs attention first, else the first. */
function instanceOf(columns: { key: string[]; task: string[]; tone: string[] }, task: string): string {
  const urgent = ["bad", "warn", "run", "wait", "queue"];
  let best = -1;
  let rank = urgent.length + 1;
  for (let row = 0; row < columns.key.length; row += 1) {
    if (columns.task[row] !== task) continue;
    const at = urgent.indexOf(columns.tone[row] ?? "");
    const own = at === -1 ? urgent.length : at;
    if (own < rank) [best, rank] = [row, own];
    if (rank === 0) break;
  }
  return columns.key[best] ?? task;
}
