/** The views of one run. Each gets the run's store, and is loaded when it is first shown. `?task=KEY` opens an instance. */
import type { ComponentType } from "preact";
import type { RunStore } from "../../core/run_store.ts";
import { r } from "../../texts/run.en.ts";

export interface RunViewProps { store: RunStore }
export interface RunTab { id: string; title: string; key: string; load: () => Promise<{ default: ComponentType<RunViewProps> }> }

export const runTabs: RunTab[] = [
  { id: "timeline", title: r.tabs.timeline, key: "1", load: () => import("../timeline/timeline.tsx") },
  { id: "graph", title: r.tabs.graph, key: "2", load: () => import("../graph/graph.tsx") },
  { id: "grid", title: r.tabs.grid, key: "3", load: () => import("../grid/grid.tsx") },
  { id: "details", title: r.tabs.details, key: "4", load: () => import("./details.tsx") },
];
