/** The keys between two rows of what is shown. Pure. */

/** From the one selected last to this one, both included; without the former only this one. */
export function rangeOf(rows: ArrayLike<number>, keys: readonly string[], from: string, to: string): string[] {
  const shown = Array.from(rows, (row) => keys[row] as string);
  const [start, end] = [shown.indexOf(from), shown.indexOf(to)];
  if (start === -1 || end === -1) return [to];
  return shown.slice(Math.min(start, end), Math.max(start, end) + 1);
}
