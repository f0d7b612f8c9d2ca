/** The instances of a run as columns, with changes merged in. Pure: the store that owns it tells the views. */
import type { InstanceColumns, InstanceRow, Interval, Time, Tone } from "../contract.ts";

const NAMES = [
  "key", "task", "label", "state", "tone", "reason", "message", "attempt", "segment", "launch", "started", "ended", "duration",
  "node", "pod", "waitClass", "waitUntil", "intervals",
] as const;

export function emptyColumns(): InstanceColumns {
  return Object.fromEntries(NAMES.map((name) => [name, []])) as unknown as InstanceColumns;
}

export class Instances {
  columns: InstanceColumns;
  /** Grows when instances come or go, and not when they change. */
  structure = 0;
  private rows = new Map<string, number>();

  constructor(columns: InstanceColumns = emptyColumns()) {
    this.columns = columns;
    this.reindex();
  }

  get length(): number {
    return this.columns.key.length;
  }

  index(key: string): number {
    return this.rows.get(key) ?? -1;
  }

  /** Merges changed rows: known keys are overwritten, new ones appended. Columns that are missing keep their values. */
  merge(changed: Partial<InstanceColumns>): void {
    const keys = changed.key ?? [];
    for (let from = 0; from < keys.length; from += 1) {
      const key = keys[from] as string;
      let to = this.rows.get(key);
      if (to === undefined) {
        to = this.length;
        this.structure += 1;
        this.rows.set(key, to);
      }
      this.copy(changed, from, to);
    }
  }

  remove(keys: readonly string[]): void {
    const gone = new Set(keys.filter((key) => this.rows.has(key)));
    if (gone.size === 0) return;
    const kept = this.columns.key.map((key) => !gone.has(key));
    const columns = this.columns as unknown as Record<string, unknown[]>;
    for (const name of NAMES) columns[name] = (columns[name] ?? []).filter((_, index) => kept[index]);
    this.reindex();
  }

  row(index: number): InstanceRow {
    const c = this.columns;
    return {
      key: c.key[index] ?? "", task: c.task[index] ?? "", label: c.label[index] ?? "", state: c.state[index] ?? "",
      tone: c.tone[index] ?? "idle", reason: c.reason[index] ?? "", message: c.message[index] ?? "",
      attempt: c.attempt[index] ?? 1, segment: c.segment[index] ?? 0, launch: c.launch[index] ?? 0,
      started: c.started[index] ?? null, ended: c.ended[index] ?? null, duration: c.duration[index] ?? null,
      node: c.node[index] ?? "", pod: c.pod[index] ?? "", waitClass: c.waitClass[index] ?? "",
      waitUntil: c.waitUntil[index] ?? null, intervals: c.intervals[index] ?? [],
    };
  }

  intervals(index: number): Interval[] {
    return this.columns.intervals[index] ?? [];
  }

  tone(index: number): Tone {
    return this.columns.tone[index] ?? "idle";
  }

  /** Seconds that an instance has taken until now; null before it began. */
  seconds(index: number, now: number): Time {
    const started = this.columns.started[index] ?? null;
    if (started === null) return null;
    return this.columns.duration[index] ?? (this.columns.ended[index] ?? now) - started;
  }

  private copy(changed: Partial<InstanceColumns>, from: number, to: number): void {
    for (const name of NAMES) {
      const values = changed[name];
      if (values && from < values.length) (this.columns[name] as unknown[])[to] = values[from];
      else if (to >= this.columns[name].length) (this.columns[name] as unknown[])[to] = blank(name);
    }
  }

  private reindex(): void {
    this.structure += 1;
    this.rows = new Map(this.columns.key.map((key, index) => [key, index]));
  }
}

function blank(name: (typeof NAMES)[number]): unknown {
  if (name === "intervals") return [];
  if (name === "started" || name === "ended" || name === "duration" || name === "waitUntil") return null;
  if (name === "attempt") return 1;
  if (name === "segment" || name === "launch") return 0;
  return name === "tone" ? "idle" : "";
}
