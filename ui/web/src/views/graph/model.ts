/** What the graph shows of a run: its tasks and groups as boxes, folded groups as one box, and the edges between them. Pure. */

import type { Task, Tone } from "../../contract.ts";

export interface GraphBox {
  /** "task:NAME" or "group:NAME": a task and a group may have the same name. */
  id: string;
  kind: "task" | "group";
  name: string;
  /** The id of the innermost open group around it. */
  parent: string | null;
  tone: Tone;
  state: string;
  /** Small print: kind, trigger, counts. */
  details: string[];
  progress: string;
  mapped: boolean;
  hook: string;
  /** Of a group: how many tasks it has, and whether it is folded into one box. */
  tasks: number;
  folded: boolean;
  /** Share of the instances by tone, in the order of TONE_ORDER, for the bar of a mapped task or a folded group. */
  shares: [Tone, number][];
}

export interface GraphEdge {
  from: string;
  to: string;
  kind: string;
}

export interface GraphModel {
  boxes: GraphBox[];
  edges: GraphEdge[];
}

/** What needs attention first. A folded group has the tone of its most urgent task. */
export const TONE_ORDER: readonly Tone[] = ["bad", "warn", "run", "queue", "wait", "idle", "skip", "ok"];

export function buildGraph(
  tasks: readonly Task[],
  edges: readonly (readonly [string, string, string])[],
  folded: ReadonlySet<string>,
  shares: ReadonlyMap<string, [Tone, number][]> = new Map(),
): GraphModel {
  const boxes: GraphBox[] = [];
  const shownAs = new Map<string, string>();
  const groups = new Map<string, GraphBox>();
  for (const task of tasks) {
    let parent: string | null = null;
    let hidden = false;
    for (const name of task.groups) {
      const id = `group:${name}`;
      let group = groups.get(id);
      if (group === undefined) {
        group = groupBox(id, name, parent, folded.has(name));
        groups.set(id, group);
        if (!hidden) boxes.push(group);
      }
      addToGroup(group, task);
      if (hidden) continue;
      parent = id;
      hidden = group.folded;
    }
    const id = `task:${task.name}`;
    shownAs.set(task.name, hidden && parent !== null ? parent : id);
    if (!hidden) boxes.push(taskBox(id, task, parent, shares.get(task.name) ?? []));
  }
  return { boxes, edges: visibleEdges(edges, shownAs) };
}

/** How many instances of each task are in which tone, the most urgent first. */
export function toneShares(columns: { task: readonly string[]; tone: readonly Tone[] }): Map<string, [Tone, number][]> {
  const counts = new Map<string, Map<Tone, number>>();
  columns.task.forEach((task, row) => {
    const own = counts.get(task) ?? new Map<Tone, number>();
    const tone = columns.tone[row] ?? "idle";
    own.set(tone, (own.get(tone) ?? 0) + 1);
    counts.set(task, own);
  });
  return new Map([...counts].map(([task, own]) => [task, inToneOrder([...own])]));
}

function inToneOrder(shares: [Tone, number][]): [Tone, number][] {
  return shares.sort((a, b) => TONE_ORDER.indexOf(a[0]) - TONE_ORDER.indexOf(b[0]));
}

/** All groups, outermost first, in the order of the tasks. */
export function groupNames(tasks: readonly Task[]): string[] {
  return [...new Set(tasks.flatMap((task) => task.groups))];
}

/** A long graph opens with its groups folded, so that it can be read. */
export function foldedAtFirst(tasks: readonly Task[]): Set<string> {
  return new Set(tasks.length > 60 ? tasks.flatMap((task) => task.groups.slice(0, 1)) : []);
}

/** The boxes before and after each box, for the arrow keys. */
export function neighbours(model: GraphModel): Map<string, { before: string[]; after: string[] }> {
  const found = new Map(model.boxes.map((box) => [box.id, { before: [] as string[], after: [] as string[] }]));
  for (const edge of model.edges) {
    found.get(edge.from)?.after.push(edge.to);
    found.get(edge.to)?.before.push(edge.from);
  }
  return found;
}

/** The id of the box that a person looks for first: what failed, then what runs or waits. */
export function mostUrgent(model: GraphModel): string {
  let found = model.boxes[0];
  for (const box of model.boxes) {
    if (box.kind === "group" && !box.folded) continue;
    if (found === undefined || TONE_ORDER.indexOf(box.tone) < TONE_ORDER.indexOf(found.tone)) found = box;
  }
  return found?.id ?? "";
}

/** Changes if the layout has to be computed again; states and counts do not change it. */
export function shapeKey(model: GraphModel): string {
  const boxes = model.boxes.map((box) => `${box.id}<${box.parent ?? ""}${box.folded ? "+" : ""}`);
  return `${boxes.join("|")}#${model.edges.map((edge) => `${edge.from}>${edge.to}`).join("|")}`;
}

function groupBox(id: string, name: string, parent: string | null, folded: boolean): GraphBox {
  return {
    id, kind: "group", name, parent, folded,
    tone: "ok", state: "", details: [], progress: "", mapped: false, hook: "", tasks: 0, shares: [],
  };
}

function taskBox(id: string, task: Task, parent: string | null, shares: [Tone, number][]): GraphBox {
  return {
    id, kind: "task", name: task.name, parent, folded: false,
    tone: task.tone, state: task.state, details: task.details, progress: task.progress,
    mapped: task.mapped, hook: task.hook, tasks: 1, shares: task.mapped ? shares : [],
  };
}

function addToGroup(group: GraphBox, task: Task): void {
  group.tasks += 1;
  const share = group.shares.find(([tone]) => tone === task.tone);
  if (share === undefined) group.shares.push([task.tone, 1]);
  else share[1] += 1;
  inToneOrder(group.shares);
  group.tone = group.shares[0]?.[0] ?? "idle";
}

function visibleEdges(
  edges: readonly (readonly [string, string, string])[],
  shownAs: ReadonlyMap<string, string>,
): GraphEdge[] {
  const seen = new Map<string, GraphEdge>();
  for (const [source, target, kind] of edges) {
    const from = shownAs.get(source);
    const to = shownAs.get(target);
    if (from === undefined || to === undefined || from === to) continue;
    seen.set(`${from}>${to}`, { from, to, kind });
  }
  return [...seen.values()];
}
