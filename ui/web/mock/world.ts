/** A made-up cluster for work on the page without a server: the same on each start. */
import type { Cause, InstanceColumns, Interval, RunHead, RunSnapshot, Task, Tone } from "../src/contract.ts";
import { emptyColumns } from "../src/core/instances.ts";

let seed = 42;
export function random(): number {
  seed = (seed * 1664525 + 1013904223) % 4294967296;
  return seed / 4294967296;
}
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
export const NOW = Math.floor(Date.now() / 1000);
export const NAMESPACES = ["analytics", "billing", "ingest", "ml-platform", "reporting"];
const TEMPLATES = ["nightly-census", "invoice-export", "feature-store", "ledger-close", "clickstream"];
const STATES: [string, Tone, number][] = [["Succeeded", "ok", 70], ["Failed", "bad", 8], ["Running", "run", 14], ["Pending", "queue", 3], ["Cancelled", "skip", 5]];

function state(): [string, Tone] {
  let left = random() * 100;
  for (const [word, tone, share] of STATES) if ((left -= share) < 0) return [word, tone];
  return ["Succeeded", "ok"];
}

export function runRows(count: number): (string | number | null)[][] {
  return Array.from({ length: count }, (_, index) => {
    const namespace = pick(NAMESPACES);
    const template = pick(TEMPLATES);
    const name = `${template}-${(0x10000 + index).toString(16)}`;
    const created = NOW - index * 37 - Math.floor(random() * 30);
    const [word, tone] = index === 0 ? ["Running", "run" as Tone] : index === 1 ? ["Failed", "bad" as Tone] : index < 40 ? state() : state();
    const ended = word === "Running" || word === "Pending" ? null : created + 60 + random() * 4000;
    const source = ended !== null && index > 600 ? "archive" : "live";
    const uid = `uid-${index}`;
    const message = word === "Failed" ? `task load[${Math.floor(random() * 90)}] failed: connection to warehouse lost` : "";
    const waiting = word === "Running" ? Math.floor(random() * 240) : 0;
    return [`${source}/${namespace}/${source === "live" ? name : uid}`, namespace, name, uid, source, word, word === "Failed" ? "TaskFailed" : "", message, created, created + 2, ended,
      ended === null ? null : ended - created, word === "Running" ? `${Math.floor(random() * 90)}/120` : "120/120", template, random() < 0.7 ? `${template}-daily` : "", word === "Running" ? Math.floor(random() * 12) : 0, waiting, word === "Failed" ? 1 : 0, tone];
  });
}

const PHASES: Tone[] = ["ok", "ok", "ok", "ok", "run", "wait", "bad", "queue"];
const STATE_OF: Record<Tone, string> = { ok: "Succeeded", run: "Running", wait: "Deferred", bad: "Failed", queue: "Scheduled", warn: "UpForRetry", skip: "Skipped", idle: "Pending" };

function history(start: number, tone: Tone): Interval[] {
  const found: Interval[] = [];
  let at = start;
  const add = (phase: Interval[0], length: number | null, detail: string, attempt: number, segment: number, reason = "") => {
    if (at >= NOW) return;
    const end = length === null || at + length >= NOW ? null : at + length;
    found.push([phase, at, end, detail, attempt, segment, 0, reason]);
    at = end ?? NOW;
  };
  const waits = Math.floor(random() * 3);
  const attempts = random() < 0.15 ? 2 : 1;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    add("queued", 1 + random() * 20, "", attempt, 0);
    add("starting", 1 + random() * 6, "pod-x", attempt, 0);
    if (attempt < attempts) {
      add("running", 20 + random() * 60, `load-a${attempt}-s0`, attempt, 0, "Error");
      add("backing off", 10 + random() * 30, "", attempt, 0, "UpForRetry");
      continue;
    }
    for (let segment = 0; segment < waits; segment += 1) {
      add("running", 10 + random() * 40, `load-a${attempt}-s${segment}`, attempt, segment);
      add("waiting", 60 + random() * 900, pick(["torpor.triggers.Http", "torpor.triggers.Sql", "torpor.triggers.Duration"]), attempt, segment);
      add("queued", 1 + random() * 4, "", attempt, segment + 1);
    }
    if (tone === "queue") add("queued", null, "", attempt, waits);
    else if (tone === "wait") add("waiting", null, "torpor.triggers.Http", attempt, waits, "Deferred");
    else add("running", tone === "run" ? null : 30 + random() * 300, `load-a${attempt}-s${waits}`, attempt, waits, tone === "bad" ? "Error" : "");
  }
  return found;
}

const TASKS = ["list-files", "wait-for-drop", "load", "validate", "aggregate", "publish"];

export function snapshot(key: string, count: number): RunSnapshot {
  const [, namespace, name] = key.split("/") as [string, string, string];
  const columns = emptyColumns();
  const start = NOW - 3600;
  const edges: [string, string, string][] = TASKS.slice(1).map((task, index) => [TASKS[index] as string, task, "after"]);
  for (let index = 0; index < count; index += 1) addInstance(columns, index, count, start);
  const counts: Record<string, number> = {};
  for (const word of columns.state) counts[word] = (counts[word] ?? 0) + 1;
  const tasks = TASKS.map((task): Task => taskOf(task, columns));
  const t = Array.from({ length: 240 }, (_, index) => start + index * 15);
  const occupancy = { t, pods: t.map((_, i) => Math.round(6 + 5 * Math.sin(i / 17) + random() * 3)), waits: t.map((_, i) => Math.round(60 + i / 3 + 40 * Math.sin(i / 40) + random() * 4)) };
  return { run: head(key, namespace, name, counts, start), tasks, groups: [], edges, instances: columns, occupancy, critical: ["list-files", "wait-for-drop", "load/3", "validate/3", "aggregate", "publish"], acts: { retry: { allowed: true, reason: "" }, cancel: { allowed: false, reason: "You may not patch Workflows in this namespace." } } };
}

function addInstance(c: InstanceColumns, index: number, count: number, start: number): void {
  const mapped = Math.max(1, Math.floor((count - 4) / 2));
  const [task, path] = index === 0 ? ["list-files", -1] : index === 1 ? ["wait-for-drop", -1] : index < 2 + mapped ? ["load", index - 2] : index < 2 + 2 * mapped ? ["validate", index - 2 - mapped] : index === 2 + 2 * mapped ? ["aggregate", -1] : ["publish", -1];
  const tone: Tone = index < 2 ? "ok" : task === "aggregate" || task === "publish" ? "queue" : task === "validate" ? pick(["ok", "ok", "run", "wait", "queue"] as Tone[]) : pick(PHASES);
  const begin = start + (index === 0 ? 0 : index === 1 ? 60 : task === "load" ? 400 + random() * 300 : task === "validate" ? 1500 + random() * 600 : 3400);
  const intervals = task === "wait-for-drop" ? [["queued", begin, begin + 2, "", 1, 0, 0, ""], ["waiting", begin + 2, begin + 330, "torpor.triggers.Object", 1, 0, 0, ""]] as Interval[] : history(begin, tone);
  const last = intervals.at(-1) as Interval;
  const running = intervals.find((each) => each[0] === "running");
  const key = (path as number) < 0 ? (task as string) : `${task}/${path}`;
  c.key.push(key); c.task.push(task as string); c.label.push((path as number) < 0 ? (task as string) : `${task}[${path}] region-${String(path).padStart(4, "0")}`);
  c.state.push(STATE_OF[tone]); c.tone.push(tone); c.reason.push(tone === "bad" ? "Error" : ""); c.message.push(tone === "bad" ? "ConnectionError: connection to warehouse lost after 3 tries" : tone === "wait" ? "https://example.org/drop/_SUCCESS answers 404" : "");
  c.attempt.push(last[4]); c.segment.push(last[5]); c.launch.push(0); c.started.push(running?.[1] ?? null); c.ended.push(last[2]);
  c.duration.push(running && last[2] !== null ? last[2] - running[1] : null); c.node.push(running ? `node-${index % 7}` : ""); c.pod.push(tone === "run" ? `nightly-${key.replace("/", "-")}-a1-s0` : "");
  c.waitClass.push(tone === "wait" ? "torpor.triggers.Http" : ""); c.waitUntil.push(tone === "wait" ? NOW + 600 + random() * 6000 : null); c.intervals.push(intervals);
}

function taskOf(task: string, c: InstanceColumns): Task {
  const counts: Record<string, number> = {};
  c.task.forEach((each, index) => { if (each === task) counts[c.state[index] as string] = (counts[c.state[index] as string] ?? 0) + 1; });
  const total = Object.values(counts).reduce((a, b) => a + b, 0);
  return { name: task, kind: task === "wait-for-drop" ? "trigger" : "python", state: "Running", tone: "run", details: [], groups: [], hook: "", mapped: total > 1, progress: `${counts["Succeeded"] ?? 0}/${total}`, counts, total, displayName: "" };
}

function causes(): Cause[] {
  return [
    { subject: "load/3", sentence: "load/3 waits for https://example.org/drop/\u202eevil/_SUCCESS, which answers 404.", since: NOW - 1860, remedy: "Nothing holds a pod. The wait ends when the file is there, or in 2h 10m at its deadline.", command: "torpor why nightly-census-10000 load/3 -n ingest", details: ["12 instances wait for the same URL and share one trigger."], urgency: "wait" },
    { subject: "validate/17", sentence: "validate/17 cannot start: no node has 4 CPUs free.", since: NOW - 240, remedy: "Lower the request of the task, or add a node.", command: "torpor logs nightly-census-10000 validate/17 -n ingest", details: [], urgency: "act" },
  ];
}

function head(key: string, namespace: string, name: string, counts: Record<string, number>, start: number): RunHead {
  return { key, namespace, name, uid: "0b5c-uid", state: "Running", tone: "run", reason: "", message: "", created: start - 3, started: start, completed: null, suspended: false, progress: "57/120", counts, pods: counts["Running"] ?? 0, waits: counts["Deferred"] ?? 0,
    params: { day: "2026-11-24", regions: ["eu", "us"], limits: { rows: 10000, dry: false } }, template: "nightly-census", schedule: "nightly-census-daily", labels: { team: "data", "app.kubernetes.io/part-of": "census" }, why: causes(),
    conditions: [{ type: "Reconciling", status: "True", reason: "Progressing", message: "57 of 120 tasks have ended" }], history: [{ at: start - 3, type: "Created", by: "alice@example.org" }, { at: start, type: "Started" }], previous: "live/ingest/nightly-census-10001" };
}
