/** Which rows of a long list are in sight, and where keys move. Pure. */

/** Returns the rows from `first` to before `last`, with some more on both sides. */
export function windowOf(top: number, height: number, rowHeight: number, count: number, overscan: number): { first: number; last: number } {
  const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + overscan);
  return { first: Math.min(first, Math.max(0, count - 1)), last: Math.max(last, 0) };
}

/** Returns the row that a key moves to; null if the key moves to none. */
export function nextRow(key: string, at: number, count: number, page: number): number | null {
  const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, j: at + 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 };
  const to = moves[key];
  return to === undefined || count === 0 ? null : Math.max(0, Math.min(count - 1, to));
}
