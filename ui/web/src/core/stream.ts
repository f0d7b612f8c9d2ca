/**
 * One stream of server-sent events: reconnects without end, stops in a hidden tab, and reads only what it has drawn.
 *
 * `fetch` instead of EventSource: it shows the status of a refusal, and the next piece is read only after a frame, so a
 * slow page slows the sender. A browser has six connections to a server; hidden tabs give theirs back.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Problem } from "../contract.ts";
import { asProblem, loggedOut, readProblem, ServerProblem } from "./api.ts";
import { serverUrl } from "./base.ts";
import { EventParser, type ServerEvent } from "./events.ts";

export type StreamStatus = "connecting" | "open" | "retrying" | "paused" | "ended" | "refused";
export type Handlers = Record<string, (data: never) => void>;
export interface Stream { status: ReadonlySignal<StreamStatus>; problem: ReadonlySignal<Problem | null>; retry: () => void; close: () => void }
export interface StreamOptions {
  /** The path with its query; asked again at each connection. */
  path: () => string;
  handlers: Handlers;
  /** Called at each connection, before its first event. */
  opened?: () => void;
  /** Types of events after which the server has nothing more to say. */
  last?: string[];
}

const SILENCE = 45_000;
const HIDDEN_GRACE = 15_000;
const LONGEST_DELAY = 30_000;

/** Milliseconds until the next connection: 1 s, 2 s, 4 s to 30 s, each less a random part, so that tabs do not come at once. */
export function backoff(failures: number, random: number): number {
  return Math.min(LONGEST_DELAY, 1000 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}

/** Whether a refusal may pass by itself. Too many streams of one person (429) do not: a person closes some. */
export function transient(status: number): boolean {
  return status === 0 || status === 408 || status >= 500;
}

export function openStream(options: StreamOptions): Stream {
  const connection = new Connection(options);
  connection.start();
  return connection;
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve, 250);
    else requestAnimationFrame(() => setTimeout(resolve, 0));
  });
}

class Connection implements Stream {
  readonly status = signal<StreamStatus>("connecting");
  readonly problem = signal<Problem | null>(null);
  private readonly options: StreamOptions;
  private controller: AbortController | null = null;
  private failures = 0;
  private lastId = "";
  private lastHeard = 0;
  private timer = 0;
  private watchdog = 0;
  private closed = false;
  private finished = false;

  constructor(options: StreamOptions) {
    this.options = options;
  }

  start(): void {
    document.addEventListener("visibilitychange", this.visibility);
    window.addEventListener("online", this.retry);
    this.watchdog = window.setInterval(this.watch, 5000);
    void this.run();
  }

  retry = (): void => {
    if (this.closed || this.status.value === "open") return;
    clearTimeout(this.timer);
    this.finished = false;
    this.controller?.abort();
    void this.run();
  };

  close = (): void => {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.watchdog);
    document.removeEventListener("visibilitychange", this.visibility);
    window.removeEventListener("online", this.retry);
    this.controller?.abort();
  };

  private visibility = (): void => {
    if (this.closed || this.finished) return;
    clearTimeout(this.timer);
    if (document.hidden) this.timer = window.setTimeout(this.pause, HIDDEN_GRACE);
    else if (this.status.value !== "open" && this.status.value !== "connecting") this.retry();
  };

  private pause = (): void => {
    this.status.value = "paused";
    this.controller?.abort();
  };

  /** A connection that is silent for longer than the server's heartbeat is dead: a laptop that slept, a lost network. */
  private watch = (): void => {
    if (this.status.value !== "open" || Date.now() - this.lastHeard < SILENCE) return;
    this.controller?.abort();
  };

  private async run(): Promise<void> {
    const controller = new AbortController();
    this.controller = controller;
    if (this.status.value !== "retrying") this.status.value = "connecting";
    try {
      await this.read(controller);
      if (!this.finished) this.later(null);
    } catch (error) {
      if (this.controller === controller && this.wanted()) this.failed(error);
    }
  }

  private wanted(): boolean {
    return !this.closed && !this.finished && this.status.value !== "paused";
  }

  private async read(controller: AbortController): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId !== "") headers["Last-Event-ID"] = this.lastId;
    const response = await fetch(serverUrl(this.options.path()), { headers, credentials: "same-origin", redirect: "error", cache: "no-store", signal: controller.signal });
    if (!response.ok || response.body === null) throw new ServerProblem(await readProblem(response));
    this.lastHeard = Date.now();
    this.options.opened?.();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      this.lastHeard = Date.now();
      const events = parser.push(piece.value);
      for (const event of events) this.dispatch(event);
      if (this.finished) return void controller.abort();
      if (events.length > 0) await nextFrame();
    }
  }

  private dispatch(event: ServerEvent): void {
    if (event.id !== "") this.lastId = event.id;
    const data: unknown = JSON.parse(event.data);
    this.status.value = "open";
    this.failures = 0;
    this.problem.value = null;
    if (event.type === "problem") return this.told({ status: 0, reason: "", remedy: "", message: "", ...(data as object) });
    this.handle(event.type, data);
    if (event.type === "end" || this.options.last?.includes(event.type)) {
      this.finished = true;
      this.status.value = "ended";
    }
  }

  /** A defect of a view must not look like a lost connection. */
  private handle(type: string, data: unknown): void {
    try {
      this.options.handlers[type]?.(data as never);
    } catch (error) {
      console.error(error);
    }
  }

  private failed(error: unknown): void {
    const problem = asProblem(error);
    if (transient(problem.status)) this.later(problem);
    else this.told(problem);
  }

  private told(problem: Problem): void {
    this.problem.value = problem;
    if (problem.status === 401) loggedOut.value = true;
    if (transient(problem.status)) return;
    this.finished = true;
    this.status.value = "refused";
  }

  private later(problem: Problem | null): void {
    if (this.closed) return;
    this.failures += 1;
    this.problem.value = this.failures > 1 ? problem : this.problem.value;
    this.status.value = "retrying";
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.run(), backoff(this.failures, Math.random()));
  }
}
