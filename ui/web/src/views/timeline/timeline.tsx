/** The timeline of a run: what held a pod, what waited without one, and what queued; below it pods against waits. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../../components/chart.tsx";
import { Data } from "../../components/data.tsx";
import { Empty } from "../../components/basics.tsx";
import type { Interval } from "../../contract.ts";
import { plain } from "../../core/characters.ts";
import { now as clock } from "../../core/clock.ts";
import { useHotkeys } from "../../core/hotkeys.ts";
import { location, setQuery } from "../../core/router.ts";
import { narrow } from "../../core/screen.ts";
import { duration } from "../../core/times.ts";
import { t } from "../../texts.en.ts";
import { l } from "../../texts/timeline.en.ts";
import type { RunViewProps } from "../run/tabs.ts";
import { TimelineCanvas, type Hit } from "./canvas.tsx";
import { Hint } from "./hint.tsx";
import { upTo } from "./occupancy.ts";
import { useOverlay } from "./overlay.ts";
import { buildRows, structural, type TimelineRow } from "./rows.ts";
import { TimelineTable } from "./table.tsx";
import { clamp, pan, whole, zoom, type TimeWindow } from "./time_window.ts";
import { Legend, Toolbar, type Controls } from "./toolbar.tsx";

const UNFOLDED_BELOW = 200;
const LABELS = 240;
const LABELS_NARROW = 120;

export default function Timeline({ store }: RunViewProps) {
  const version = store.version.value;
  const head = store.head.value;
  const open = head?.completed === null;
  const now = open ? clock.value : (head?.completed ?? clock.value);
  const selected = location.value.query.get("task") ?? "";
  const [controls, setControls] = useState<Controls>({ text: "", order: "task", which: "all", critical: false, overlay: false, table: false });
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [chosen, setChosen] = useState<TimeWindow | null>(null);
  const [hit, setHit] = useState<Hit | null>(null);
  const { overlay, failed } = useOverlay(head, controls.overlay);
  const box = useRef<HTMLDivElement>(null);

  const unfoldedByDefault = store.instances.length <= UNFOLDED_BELOW;
  const unfolded = (task: string) => folds.get(task) ?? (unfoldedByDefault || controls.text !== "" || controls.which === "bad");
  const slow = controls.order === "duration" ? Math.floor(now / 10) : 0;
  const rows = useMemo(() => buildRows(store.instances, store.tasks.value, { text: controls.text, order: controls.order, which: controls.which, unfolded, now }), [structural(controls) ? store.instances.structure : version, store.instances, store.tasks.value, controls, folds, slow]);
  const critical = useMemo(() => new Set(store.critical.value), [store.critical.value]);
  const begin = useMemo(() => earliest(store.instances.columns.intervals, head?.started ?? head?.created ?? now), [version]);
  const limits = whole(begin, Math.max(now, begin + (overlay?.length ?? 0)));
  const window = chosen ? clamp(chosen, limits) : limits;
  const open_ = (row: TimelineRow) => setQuery({ task: row.key }, { replace: selected !== "" });
  const fold = (row: TimelineRow) => (row.kind === "group" ? setFolds(new Map(folds).set(row.key, !row.unfolded)) : undefined);
  const groups = rows.filter((row) => row.kind === "group");
  const allUnfolded = groups.length > 0 && groups.every((row) => row.kind === "group" && row.unfolded);
  const unfoldAll = () => setFolds(new Map(groups.map((row) => [row.key, !allUnfolded])));
  const zoomBy = (factor: number) => setChosen(zoom(window, factor, (window.from + window.to) / 2, limits));
  const labels = narrow.value ? LABELS_NARROW : LABELS;

  const group = t.groups.view;
  const move = (part: number) => setChosen(pan(window, part * (window.to - window.from), limits));
  useHotkeys([
    { keys: "/", label: l.filter, group, run: () => document.getElementById("timeline-filter")?.focus() },
    { keys: "+", label: l.zoomIn, group, run: () => zoomBy(1 / 1.8) }, { keys: "-", label: l.zoomOut, group, run: () => zoomBy(1.8) }, { keys: "0", label: l.fit, group, run: () => setChosen(null) },
    { keys: "ArrowLeft", label: l.earlier, group, run: () => move(-0.125) }, { keys: "ArrowRight", label: l.later, group, run: () => move(0.125) },
    { keys: "f", label: l.foldKey, group, run: unfoldAll }, { keys: "c", label: l.critical, group, run: () => setControls({ ...controls, critical: !controls.critical && critical.size > 0 }) },
    { keys: "p", label: l.overlay, group, run: () => setControls({ ...controls, overlay: !controls.overlay && Boolean(head?.previous) }) }, { keys: "v", label: l.table, group, run: () => setControls({ ...controls, table: !controls.table }) },
  ], [window.from, window.to, controls, folds, rows, critical, head?.previous]);
  useEffect(() => setHit(null), [rows, selected]);
  useEffect(() => {
    const task = store.tasks.value.find((each) => each.name === selected.split("/")[0]);
    if (task?.mapped && !unfolded(task.name)) setFolds(new Map(folds).set(task.name, true));
  }, [selected]);

  if (store.instances.length === 0) return <Empty title={open ? l.noneYet : l.noneLeft} />;
  return (
    <div class="timeline" ref={box}>
      <Toolbar controls={controls} onChange={(changed) => setControls({ ...controls, ...changed })} criticalMissing={critical.size === 0} overlayMissing={!head?.previous} rows={rows.length} grouped={groups.length > 0}
        unfolded={allUnfolded} onUnfold={unfoldAll} onZoom={zoomBy} onFit={() => setChosen(null)} fitted={chosen === null} />
      {failed ? <div class="note">{l.overlayFailed}</div> : null}
      {overlay ? <div class="timeline-note small soft"><Data text={l.overlayOf(overlay.name)} limit={300} /> · {duration(overlay.length)}</div> : null}
      {rows.length === 0 ? <Empty title={l.noRows} /> : controls.table ? <TimelineTable rows={rows} instances={store.instances} now={now} version={version} selected={selected} onOpen={open_} /> : (
        <div class="timeline-body">
          <TimelineCanvas rows={rows} instances={store.instances} version={version} window={window} limits={limits} now={now} open={open} labels={labels} critical={critical} showCritical={controls.critical}
            overlay={overlay?.rows ?? null} shift={overlay ? (head?.started ?? begin) - overlay.start : 0} selected={selected} describe={(row) => describe(row, store)} onWindow={setChosen} onHover={setHit} onOpen={open_} onFold={fold} />
          {hit ? <Hint hit={hit} instances={store.instances} causes={head?.why ?? []} now={now} width={box.current?.clientWidth ?? 1000} overlay={overlay?.rows ?? null} /> : null}
        </div>
      )}
      {controls.table ? null : (
        <div class="timeline-foot">
          <Legend />
          <Occupancy store={store} window={window} labels={labels} now={open ? now : null} />
        </div>
      )}
    </div>
  );
}

function Occupancy({ store, window, labels, now }: RunViewProps & { window: TimeWindow; labels: number; now: number | null }) {
  const { t: times, pods, waits } = upTo(store.occupancy.value, now);
  const series = useMemo(() => [
    { label: l.waits, token: "--tone-wait", values: waits, fill: true, stepped: true, dash: [4, 3] },
    { label: l.pods, token: "--tone-run", values: pods, fill: true, stepped: true },
  ], [store.occupancy.value, now]);
  if (times.length === 0) return null;
  return <Chart label={l.occupancy} times={times} series={series} height={narrow.value ? 90 : 112} window={window} axisWidth={narrow.value ? LABELS_NARROW : labels} />;
}

function earliest(intervals: Interval[][], fallback: number): number {
  let found = fallback;
  for (const row of intervals) found = Math.min(found, row[0]?.[1] ?? found);
  return found;
}

function describe(row: TimelineRow, store: RunViewProps["store"]): string {
  if (row.kind === "group") return `${plain(row.label)}: ${l.groupOf(row.members.length)}`;
  const c = store.instances.columns;
  const last = store.instances.intervals(row.index).at(-1);
  return plain(`${row.label}: ${c.state[row.index]}${last ? `, ${l.phases[last[0]] ?? last[0]}` : ""} ${c.message[row.index] ?? ""}`);
}
