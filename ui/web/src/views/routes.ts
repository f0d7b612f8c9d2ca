/** The views and their paths. Each is loaded when it is first shown. A view is a module whose default export draws it. */
import type { ComponentType } from "preact";
import { t } from "../texts.en.ts";

export interface Route { id: string; title: (path: string[]) => string; matches: (path: string[]) => boolean; load: () => Promise<{ default: ComponentType }> }
export interface NavigationEntry { path: string; title: string; key: string }

/** The header's links; `key` follows "g" on the keyboard. */
export const navigation: NavigationEntry[] = [
  { path: "runs", title: t.views.runs, key: "r" },
  { path: "schedules", title: t.views.schedules, key: "s" },
  { path: "inbox", title: t.views.inbox, key: "i" },
  { path: "triggerers", title: t.views.triggerers, key: "w" },
  { path: "cluster", title: t.views.cluster, key: "c" },
];

const first = (name: string) => (path: string[]): boolean => path[0] === name;

export const routes: Route[] = [
  { id: "runs", title: () => t.views.runs, matches: (path) => path.length === 0 || path[0] === "runs", load: () => import("./runs/runs.tsx") },
  { id: "run", title: (path) => path[3] ?? t.views.runs, matches: (path) => path[0] === "run" && path.length >= 4, load: () => import("./run/run.tsx") },
  { id: "schedules", title: () => t.views.schedules, matches: first("schedules"), load: () => import("./schedules/schedules.tsx") },
  { id: "inbox", title: () => t.views.inbox, matches: first("inbox"), load: () => import("./inbox/inbox.tsx") },
  { id: "triggerers", title: () => t.views.triggerers, matches: first("triggerers"), load: () => import("./triggerers/triggerers.tsx") },
  { id: "cluster", title: () => t.views.cluster, matches: first("cluster"), load: () => import("./cluster/cluster.tsx") },
];

export function findRoute(path: string[]): Route | undefined {
  return routes.find((route) => route.matches(path));
}
