/** The timeline of the previous run of the same template or schedule, to lay it over this one. */
import { useEffect, useState } from "preact/hooks";
import type { Interval, RunHead, TimelineData } from "../../contract.ts";
import { getJson } from "../../core/api.ts";
import { runApi } from "../../core/run_store.ts";

export interface Overlay { name: string; rows: ReadonlyMap<string, Interval[]>; start: number; length: number }

export function overlayOf(data: TimelineData, key: string): Overlay {
  const begin = data.start ?? data.rows.reduce((first, row) => Math.min(first, row.intervals[0]?.[1] ?? first), data.end);
  return { name: key.split("/").at(-1) ?? key, rows: new Map(data.rows.map((row) => [row.key, row.intervals])), start: begin, length: data.end - begin };
}

/** Fetches the previous run while it is wanted. */
export function useOverlay(head: RunHead | null, wanted: boolean): { overlay: Overlay | null; failed: boolean } {
  const [overlay, setOverlay] = useState<Overlay | null>(null);
  const [failed, setFailed] = useState(false);
  const previous = wanted ? (head?.previous ?? null) : null;
  useEffect(() => {
    setOverlay(null);
    setFailed(false);
    if (previous === null) return undefined;
    const controller = new AbortController();
    getJson<TimelineData>(`${runApi(previous)}/timeline`, controller.signal).then((data) => setOverlay(overlayOf(data, previous)), () => setFailed(!controller.signal.aborted));
    return () => controller.abort();
  }, [previous]);
  return { overlay, failed };
}
