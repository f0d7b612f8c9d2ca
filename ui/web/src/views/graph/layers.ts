/** Layers of one container: which cell is in which layer, in which order, and where. Pure. */

import type { Rect } from "./layout.ts";

export interface Cell {
  id: string;
  width: number;
  height: number;
}

export interface LayerPlacement {
  rects: Map<string, Rect>;
  /** "FROM>TO": the points between the layers that an edge over several layers passes. */
  bends: Map<string, number[]>;
  width: number;
  height: number;
}

const GAP = { across: 64, down: 14, line: 10 } as const;
const SWEEPS = 8;
/** Above it, long edges are drawn straight: the graph is too dense to follow a line anyway. */
const BENDS_MAX = 4_000;

interface Slot {
  id: string;
  layer: number;
  height: number;
  before: Slot[];
  after: Slot[];
  /** Middle of the slot. */
  y: number;
  order: number;
}

export function placeLayers(cells: readonly Cell[], after: ReadonlyMap<string, readonly string[]>): LayerPlacement {
  if (cells.length === 0) return { rects: new Map(), bends: new Map(), width: 0, height: 0 };
  const layerOf = assignLayers(cells.map((cell) => cell.id), after);
  const slots = new Map(cells.map((cell) => [cell.id, slotOf(cell.id, layerOf.get(cell.id) ?? 0, cell.height)]));
  const chains = connect(slots, after);
  const layers = inLayers([...slots.values(), ...[...chains.values()].flat()]);
  orderLayers(layers);
  placeDown(layers);
  return rectangles(cells, slots, chains, layers);
}

/** The longest path to each cell. Edges that close a circle do not count: groups may need each other. */
export function assignLayers(ids: readonly string[], after: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const order: string[] = [];
  const state = new Map<string, "open" | "done">();
  const back = new Set<string>();
  for (const root of ids) {
    if (state.has(root)) continue;
    const stack: [string, number][] = [[root, 0]];
    state.set(root, "open");
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as [string, number];
      const next = after.get(top[0])?.[top[1]++];
      if (next === undefined) {
        state.set(top[0], "done");
        order.push(top[0]);
        stack.pop();
      } else if (state.get(next) === "open") back.add(`${top[0]}>${next}`);
      else if (!state.has(next)) {
        state.set(next, "open");
        stack.push([next, 0]);
      }
    }
  }
  const layers = new Map(ids.map((id) => [id, 0]));
  for (const id of order.reverse()) {
    for (const next of after.get(id) ?? []) {
      if (back.has(`${id}>${next}`)) continue;
      layers.set(next, Math.max(layers.get(next) ?? 0, (layers.get(id) ?? 0) + 1));
    }
  }
  return layers;
}

function slotOf(id: string, layer: number, height: number): Slot {
  return { id, layer, height, before: [], after: [], y: 0, order: 0 };
}

/** Join the slots along the edges, with slots of their own where an edge passes a layer. */
function connect(slots: ReadonlyMap<string, Slot>, after: ReadonlyMap<string, readonly string[]>): Map<string, Slot[]> {
  const chains = new Map<string, Slot[]>();
  let bends = 0;
  for (const [id, targets] of after) {
    const source = slots.get(id);
    for (const name of targets) {
      const target = slots.get(name);
      if (source === undefined || target === undefined || target.layer <= source.layer) continue;
      const chain: Slot[] = [];
      bends += target.layer - source.layer - 1;
      for (let layer = source.layer + 1; layer < target.layer && bends < BENDS_MAX; layer += 1) {
        chain.push(slotOf(`${id}>${name}@${layer}`, layer, 0));
      }
      if (chain.length === target.layer - source.layer - 1) join([source, ...chain, target]);
      if (chain.length > 0) chains.set(`${id}>${name}`, chain);
    }
  }
  return chains;
}

function join(chain: readonly Slot[]): void {
  for (let at = 1; at < chain.length; at += 1) {
    const [left, right] = [chain[at - 1] as Slot, chain[at] as Slot];
    left.after.push(right);
    right.before.push(left);
  }
}

function inLayers(slots: readonly Slot[]): Slot[][] {
  const layers: Slot[][] = [];
  for (const slot of slots) (layers[slot.layer] ??= []).push(slot);
  for (const layer of layers) layer.forEach((slot, order) => { slot.order = order; });
  return layers;
}

function orderLayers(layers: readonly Slot[][]): void {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wish = new Map(layer.map((slot) => [slot, mean(down ? slot.before : slot.after, "order") ?? slot.order]));
      layer.sort((a, b) => (wish.get(a) as number) - (wish.get(b) as number) || a.order - b.order);
      layer.forEach((slot, order) => { slot.order = order; });
    }
  }
}

function placeDown(layers: readonly Slot[][]): void {
  for (const layer of layers) {
    let y = 0;
    for (const slot of layer) {
      slot.y = y + slot.height / 2;
      y += slot.height + gap(slot);
    }
    for (const slot of layer) slot.y -= y / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      settle(layer, layer.map((slot) => mean(down ? slot.before : slot.after, "y") ?? slot.y));
    }
  }
}

/** The heights nearest to the wishes that keep order and gaps: isotonic regression by pooling neighbours. */
function settle(layer: readonly Slot[], wishes: readonly number[]): void {
  const offsets: number[] = [];
  layer.forEach((slot, at) => {
    const above = layer[at - 1];
    offsets.push(above === undefined ? 0 : (offsets[at - 1] as number) + (above.height + slot.height) / 2 + Math.max(gap(above), gap(slot)));
  });
  const pools: { sum: number; count: number }[] = [];
  wishes.forEach((wish, at) => {
    let pool = { sum: wish - (offsets[at] as number), count: 1 };
    for (let above = pools.at(-1); above !== undefined && above.sum / above.count >= pool.sum / pool.count; above = pools.at(-1)) {
      pool = { sum: above.sum + pool.sum, count: above.count + pool.count };
      pools.pop();
    }
    pools.push(pool);
  });
  let at = 0;
  for (const pool of pools) {
    for (let left = pool.count; left > 0; left -= 1, at += 1) {
      (layer[at] as Slot).y = pool.sum / pool.count + (offsets[at] as number);
    }
  }
}

function gap(slot: Slot): number {
  return slot.height === 0 ? GAP.line : GAP.down;
}

function mean(slots: readonly Slot[], field: "order" | "y"): number | null {
  if (slots.length === 0) return null;
  return slots.reduce((sum, slot) => sum + slot[field], 0) / slots.length;
}

function rectangles(
  cells: readonly Cell[],
  slots: ReadonlyMap<string, Slot>,
  chains: ReadonlyMap<string, readonly Slot[]>,
  layers: readonly Slot[][],
): LayerPlacement {
  const widths = layers.map(() => 0);
  for (const cell of cells) {
    const layer = slots.get(cell.id)?.layer ?? 0;
    widths[layer] = Math.max(widths[layer] ?? 0, cell.width);
  }
  const lefts: number[] = [];
  widths.forEach((_, at) => lefts.push(at === 0 ? 0 : (lefts[at - 1] as number) + (widths[at - 1] as number) + GAP.across));
  const all = layers.flat();
  const top = Math.min(...all.map((slot) => slot.y - slot.height / 2));
  const bottom = Math.max(...all.map((slot) => slot.y + slot.height / 2));
  const rects = new Map<string, Rect>();
  for (const cell of cells) {
    const slot = slots.get(cell.id) as Slot;
    rects.set(cell.id, { x: lefts[slot.layer] as number, y: slot.y - slot.height / 2 - top, width: cell.width, height: cell.height });
  }
  const bends = new Map<string, number[]>();
  for (const [key, chain] of chains) {
    bends.set(key, chain.flatMap((slot) => {
      const left = lefts[slot.layer] as number;
      return [left, slot.y - top, left + (widths[slot.layer] as number), slot.y - top];
    }));
  }
  return { rects, bends, width: (lefts.at(-1) as number) + (widths.at(-1) as number), height: bottom - top };
}
