/** Live runs from a stream and archived ones by pages, as one list: the newest first. */
import { batch, signal } from "@preact/signals";
import type { Problem, RunList as RunPage, RunRow, RunRows, Time, Tone } from "../../contract.ts";
import { RUN_COLUMNS } from "../../contract.ts";
import { asProblem, getJson, queryOf } from "../../core/api.ts";
import { knownTone } from "../../core/tones.ts";
import { openStream, type Stream } from "../../core/stream.ts";

export interface Run {
  key: string; namespace: string; name: string; uid: string; source: string; state: string; tone: Tone; reason: string; message: string;
  created: Time; started: Time; completed: Time; duration: Time; progress: string; template: string; schedule: string; running: number; waiting: number; failed: number;
}

const PAGE = 500;

/** Returns the run of a row, whose values are in the order of `columns`. Pure. */
export function runOf(row: RunRow, columns: readonly string[]): Run {
  const at = Object.fromEntries(columns.map((name, index) => [name, row[index]]));
  const text = (name: string): string => (typeof at[name] === "string" ? at[name] : "");
  const number = (name: string): Time => (typeof at[name] === "number" ? at[name] : null);
  return {
    key: text("key"), namespace: text("namespace"), name: text("name"), uid: text("uid"), source: text("source"), state: text("state"), tone: knownTone(text("tone")), reason: text("reason"), message: text("message"),
    created: number("created"), started: number("started"), completed: number("completed"), duration: number("duration"), progress: text("progress"), template: text("template"), schedule: text("schedule"),
    running: number("running") ?? 0, waiting: number("waiting") ?? 0, failed: number("failed") ?? 0,
  };
}

/** Joins live and archived runs: a run that is in both is live. The newest first. Pure. */
export function joined(live: Iterable<Run>, archived: Iterable<Run>): Run[] {
  const all = [...live];
  const uids = new Set(all.map((run) => run.uid));
  for (const run of archived) if (run.uid === "" || !uids.has(run.uid)) all.push(run);
  return all.sort((a, b) => (b.created ?? 0) - (a.created ?? 0) || (a.key < b.key ? -1 : 1));
}

export class RunListStore {
  readonly runs = signal<Run[]>([]);
  readonly notes = signal<string[]>([]);
  readonly problem = signal<Problem | null>(null);
  readonly loading = signal(true);
  readonly more = signal(false);
  readonly stream: Stream | null;
  private readonly query: Record<string, string | number | null>;
  private readonly controller = new AbortController();
  private columns: readonly string[] = RUN_COLUMNS;
  private live = new Map<string, Run>();
  private archived = new Map<string, Run>();
  private cursor: string | null = null;
  private whole = true;
  private fetching = false;
  private waiting: Set<"live" | "archive">;

  constructor(query: Record<string, string | number | null>, source: "all" | "live" | "archive") {
    this.query = query;
    this.waiting = new Set(source === "all" ? ["live", "archive"] : [source]);
    this.stream = source === "archive" ? null : openStream({
      path: () => `api/runs/stream${queryOf({ ...query, source: "live" })}`,
      opened: () => (this.whole = true),
      handlers: { rows: this.take, reset: () => (this.whole = true) },
    });
    if (source !== "live") void this.fetch();
  }

  close(): void {
    this.stream?.close();
    this.controller.abort();
  }

  /** Fetches the next page of the archive, if there is one. */
  loadMore = (): void => {
    if (this.more.peek() && !this.fetching) void this.fetch();
  };

  private take = (event: RunRows): void => {
    if (event.columns) this.columns = event.columns;
    if (this.whole) this.live.clear();
    this.whole = false;
    for (const row of event.rows) {
      const run = runOf(row, this.columns);
      this.live.set(run.key, run);
    }
    for (const key of event.gone ?? []) this.live.delete(key);
    this.arrived("live", event.notes);
  };

  private async fetch(): Promise<void> {
    this.fetching = true;
    try {
      const page = await getJson<RunPage>(`api/runs${queryOf({ ...this.query, source: "archive", limit: PAGE, cursor: this.cursor })}`, this.controller.signal);
      for (const row of page.rows) {
        const run = runOf(row, page.columns);
        this.archived.set(run.key, run);
      }
      this.cursor = page.next;
      this.more.value = page.next !== null;
      this.arrived("archive", page.notes);
    } catch (error) {
      if (this.controller.signal.aborted) return;
      const problem = asProblem(error);
      this.more.value = false;
      this.arrived("archive", [problem.message]);
      if (this.stream === null) this.problem.value = problem;
    } finally {
      this.fetching = false;
    }
  }

  private arrived(part: "live" | "archive", notes: string[] | undefined): void {
    this.waiting.delete(part);
    batch(() => {
      this.runs.value = joined(this.live.values(), this.archived.values());
      this.loading.value = this.waiting.size > 0 && this.runs.value.length === 0;
      if (notes) this.notes.value = [...new Set([...this.notes.value, ...notes])].slice(0, 5);
    });
  }
}
