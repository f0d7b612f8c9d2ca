/** Where the arrow keys go in a graph: along the edges, and up and down between boxes that look aligned. Pure. */
import type { Rect } from "./layout.ts";

export function nextBox(
  key: string, from: string, rects: ReadonlyMap<string, Rect>, around: ReadonlyMap<string, { before: string[]; after: string[] }>,
): string | null {
  const here = rects.get(from);
  if (here === undefined) return null;
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const linked = (key === "ArrowRight" ? around.get(from)?.after : around.get(from)?.before) ?? [];
    return nearest(here, linked, rects) ?? beside(here, from, rects, key === "ArrowRight" ? 1 : -1);
  }
  if (key === "ArrowDown" || key === "ArrowUp") return level(here, from, rects, key === "ArrowDown" ? 1 : -1);
  const ids = [...rects.keys()];
  if (key === "Home") return ids[0] ?? null;
  return key === "End" ? ids.at(-1) ?? null : null;
}

function nearest(here: Rect, ids: readonly string[], rects: ReadonlyMap<string, Rect>): string | null {
  return least(ids, (id) => {
    const rect = rects.get(id);
    return rect === undefined ? null : distance(here, rect);
  });
}

/** The nearest box above or below; what is far aside counts as farther. */
function level(here: Rect, from: string, rects: ReadonlyMap<string, Rect>, direction: number): string | null {
  return least([...rects.keys()], (id) => {
    const rect = rects.get(id) as Rect;
    const dy = (middle(rect).y - middle(here).y) * direction;
    return id === from || dy <= 1 ? null : dy + 2 * Math.abs(middle(rect).x - middle(here).x);
  });
}

function beside(here: Rect, from: string, rects: ReadonlyMap<string, Rect>, direction: number): string | null {
  return least([...rects.keys()], (id) => {
    const rect = rects.get(id) as Rect;
    const dx = (middle(rect).x - middle(here).x) * direction;
    return id === from || dx <= 1 ? null : dx + 2 * Math.abs(middle(rect).y - middle(here).y);
  });
}

function least(ids: readonly string[], cost: (id: string) => number | null): string | null {
  let best: string | null = null;
  let lowest = Infinity;
  for (const id of ids) {
    const own = cost(id);
    if (own !== null && own < lowest) [best, lowest] = [id, own];
  }
  return best;
}

function distance(a: Rect, b: Rect): number {
  return Math.hypot(middle(a).x - middle(b).x, middle(a).y - middle(b).y);
}

function middle(rect: Rect): { x: number; y: number } {
  return { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
}
