/** Made-up answers for schedules, approvals, triggerers, the cluster, templates and acts. */
import type { RunSnapshot, Task, Tone } from "../src/contract.ts";
import type { ScheduleRow } from "../src/contract_lists.ts";
import { NAMESPACES, NOW, random, runRows, snapshot } from "./world.ts";
import { RUN_COLUMNS } from "../src/contract.ts";

const DAY = 86_400;
const ALLOWED = { allowed: true, reason: "" };
const acts = { retry: ALLOWED, mark: ALLOWED, resubmit: ALLOWED, suspend: ALLOWED, stop: ALLOWED, cancel: { allowed: false, reason: "You may not patch Workflows in this namespace." }, "schedule-pause": ALLOWED, "schedule-run": ALLOWED, backfill: { allowed: false, reason: "You may not create Backfills in this namespace." } };

function schedule(index: number): ScheduleRow {
  const names = ["nightly-census", "invoice-export", "feature-store-refresh", "ledger-close", "clickstream-hourly", "sla-report"];
  const name = `${names[index % names.length]}${index >= names.length ? `-${Math.floor(index / names.length)}` : ""}`;
  const every = [DAY, DAY, 3600, 30 * DAY, 3600, 7 * DAY][index % 6] as number;
  const first = Math.ceil(NOW / every) * every;
  const failed = index % 4 === 1;
  return {
    namespace: NAMESPACES[index % NAMESPACES.length] as string, name, template: names[index % names.length] as string, suspended: index % 7 === 3, ready: index !== 5,
    message: index === 5 ? "The template sla-report does not exist." : "", tone: index % 7 === 3 ? "skip" : index === 5 ? "bad" : "ok",
    sources: [{ name: "nightly", kind: "cron", text: ["0 2 * * *", "30 4 * * *", "0 * * * *", "0 6 1 * *", "15 * * * *", "0 7 * * 1"][index % 6] as string, timeZone: "Europe/Berlin" }],
    next: Array.from({ length: 10 }, (_, at) => first + at * every), last: first - every, lastRun: "live/ingest/nightly-census-10001", lastState: failed ? "Failed" : "Succeeded", lastTone: failed ? "bad" : "ok",
    active: index % 3 === 0 ? ["live/ingest/nightly-census-10000"] : [], concurrency: "Queue, at most 3", missed: index % 5, skipped: index % 3, queue: index === 0 ? [{ at: first, source: "nightly", text: "tick of 02:00" }] : [], acts,
  };
}

function calendar() {
  return Array.from({ length: 180 }, (_, back) => {
    const day = new Date((NOW - back * DAY) * 1000).toISOString().slice(0, 10);
    const luck = random();
    return { day, ok: luck > 0.04 ? 1 + Math.floor(random() * 4) : 0, failed: luck > 0.9 ? 1 : 0, missed: luck < 0.05 ? 1 : 0, skipped: luck > 0.5 && luck < 0.54 ? 1 : 0 };
  });
}

function triggerers() {
  const due = Array.from({ length: 240 }, (_, at) => ({ key: `load/${at}`, run: "live/ingest/nightly-census-10000", runName: "nightly-census-10000", namespace: "ingest", task: `load[${at}]`, class: ["http", "time", "sql"][at % 3] as string, at: NOW + 20 + at * at }));
  return {
    replicas: [0, 1, 2].map((at) => ({ pool: at === 2 ? "licensed" : "default", name: `torpor-triggerer-${at === 2 ? "licensed-0" : at}`, ready: at !== 2, shards: [64, 64, 0][at] as number, waits: [20_411, 19_833, 0][at] as number, loopLag: [0.004, 0.071, null][at] as number | null, renewed: NOW - 2 - at * 40 })),
    pools: [{ name: "default", replicas: 2, ready: 2, shards: 128, waits: 40_244 }, { name: "licensed", replicas: 1, ready: 0, shards: 16, waits: 12 }],
    waits: {
      byClass: [["http", 18_211], ["time", 9_120], ["sql", 7_004], ["object", 3_390], ["redis", 1_701], ["approval", 41], ["workflow", 410], ["tcp", 12], ["cron", 7], ["own.SensorTrigger", 360]],
      byHost: [["warehouse.example.org:5432", 7_004], ["api.example.org", 12_007], ["status.vendor.example", 6_204], ["s3.eu-central-1.example", 3_390], ["redis-main:6379", 1_701]],
      byAge: [["under 1 min", 1_220], ["1 to 10 min", 8_140], ["10 to 60 min", 14_300], ["1 to 6 h", 11_080], ["6 to 24 h", 4_904], ["over 1 day", 612]],
    },
    shared: [{ class: "http", subject: "https://status.vendor.example/v2/export/ready", waits: 6_204 }, { class: "object", subject: "s3://drop/2026-11-25/_SUCCESS", waits: 1_190 }],
    blamed: [{ class: "own.SensorTrigger", namespace: "ml-platform", subject: "json.loads of 40 MB", seconds: 0.41, reason: "ran on the event loop", since: NOW - 400 }],
    due, notes: ["The metrics of torpor-triggerer-licensed-0 cannot be read: the pod is not ready."],
  };
}

function cluster() {
  const t = Array.from({ length: 300 }, (_, at) => NOW - (300 - at) * 60);
  return {
    pods: 118, waits: 40_256, saved: { podHours: 912_440, now: 40_256 }, runs: { Running: 412, Pending: 8, Succeeded: 8_903, Failed: 641, Suspended: 2 },
    slots: [{ namespace: "billing", name: "warehouse", size: 20, used: 20, queued: 131 }, { namespace: "ml-platform", name: "gpu", size: 8, used: 3, queued: 0 }, { namespace: "ingest", name: "ftp", size: 10, used: 9.2, queued: 0 }],
    quotas: [{ namespace: "analytics", resource: "pods", hard: 50, used: 31 }, { namespace: "analytics", resource: "requests.cpu", hard: 40, used: 38 }, { namespace: "billing", resource: "requests.memory (Gi)", hard: 128, used: 44 }],
    history: { t, pods: t.map((_, at) => Math.round(110 + 30 * Math.sin(at / 20) + random() * 12)), waits: t.map((_, at) => Math.round(300 + at + 120 * Math.sin(at / 50))) },
    pools: triggerers().pools, notes: [],
  };
}

const approvals = [
  { key: "ask", run: "live/billing/ledger-close-10003", runName: "ledger-close-10003", namespace: "billing", task: "ask", subject: "Close the ledger", question: "Close the ledger of October? 3 invoices are open.", lastAnswer: "", form: { multiple: false, options: ["now", "tonight"], fields: [{ name: "ticket", type: "string", description: "Number of the change", required: true, enum: [], pattern: "CHG-[0-9]+" }, { name: "percent", type: "integer", description: "", required: false, default: 10, enum: [], pattern: null, min: 1, max: 100 }] }, since: NOW - 7_200, deadline: NOW + 2 * DAY, approvers: ["group finance", "ann@example.org"], mayAnswer: true, reason: "" },
  { key: "confirm", run: "live/ingest/nightly-census-10000", runName: "nightly-census-10000", namespace: "ingest", task: "confirm", question: "Deploy 1.4 to \u202eproduction? <b>now</b>", since: NOW - 300, deadline: null, approvers: [], mayAnswer: false, reason: "You may not patch TaskRuns in this namespace; ask for the role torpor-approve." },
];

const templates = [
  { namespace: NAMESPACES[2], name: "nightly-census", description: "Counts all regions.", params: [
    { name: "day", type: "string", pattern: "\\d{4}-\\d{2}-\\d{2}", required: true, description: "The day to count" },
    { name: "mode", type: "string", enum: ["full", "delta"], default: "delta", required: false, description: "" },
    { name: "regions", type: "array", required: false, default: ["eu"], description: "Which regions" },
    { name: "limits", type: "object", required: false, description: "Rows and more" },
    { name: "dry", type: "boolean", required: false, default: false, description: "Change nothing" },
  ] },
];

/** Returns the answer of a path below api/; undefined for a path that the mock does not know. */
export function answers(path: string, method: string, _query: URLSearchParams): unknown {
  const parts = path.split("/");
  if (path === "access") return { acts };
  if (path.startsWith("acts/") && path.endsWith("/preview")) return { effects: ["load[3] runs again, from its first attempt.", "validate[3] runs again, since it depends on load[3].", "aggregate and publish run again."], command: "torpor retry nightly-census-10000 load/3 -n ingest", allowed: true, reason: "", warnings: ["The result of load[3] is deleted."] };
  if (path.startsWith("acts/") && method === "POST") return { done: ["12 instances run again."], failed: [], ...(parts[1] === "resubmit" || parts[1] === "submit" ? { created: "live/ingest/nightly-census-10009" } : {}) };
  if (path === "templates") return templates;
  if (path === "schedules") return Array.from({ length: 14 }, (_, index) => schedule(index));
  if (parts[0] === "schedules") return { ...schedule(0), name: parts[2], namespace: parts[1], calendar: calendar(), runs: { columns: [...RUN_COLUMNS, "tone"], rows: runRows(20) } };
  if (path === "approvals") return approvals;
  if (path === "triggerers") return triggerers();
  if (path === "cluster") return cluster();
  return undefined;
}

/** A run with many tasks in nested groups, for names such as "graph-40" and "graph-500". */
export function graphRun(key: string): RunSnapshot | null {
  const match = /graph-(\d+)$/.exec(key);
  if (match === null) return null;
  const count = Number(match[1]);
  const whole = snapshot(key, count * 3);
  const tones: Tone[] = ["ok", "ok", "ok", "run", "wait", "queue", "idle"];
  const words: Record<string, string> = { ok: "Succeeded", run: "Running", wait: "Running", queue: "Pending", idle: "Pending", bad: "Failed" };
  const tasks = Array.from({ length: count }, (_, at): Task => {
    const tone: Tone = at === 17 ? "bad" : at < count / 2 ? "ok" : (tones[at % tones.length] as Tone);
    const layer = Math.floor(at / Math.max(4, count / 12));
    const groups = at % 4 === 3 ? [] : [`stage-${Math.floor(layer / 2)}`, ...(at % 4 === 1 ? [`inner-${layer}`] : [])];
    return { name: `${["extract", "clean", "join", "score", "load"][at % 5]}_${at}`, kind: at % 6 === 5 ? "trigger" : "python", state: words[tone] as string, tone, details: [at % 6 === 5 ? "trigger http" : "python"], groups, hook: "", mapped: at % 3 === 2, progress: at % 3 === 2 ? "31/40" : "", counts: {}, total: at % 3 === 2 ? 40 : 1, displayName: "" };
  });
  const width = Math.max(4, Math.floor(count / 12));
  const edges = tasks.slice(width).flatMap((task, at): [string, string, string][] => [[(tasks[at] as Task).name, task.name, "upstream"], ...(at % 5 === 0 && at > width ? [[(tasks[at - width] as Task).name, task.name, "upstream"] as [string, string, string]] : [])]);
  whole.instances.task.forEach((_, row) => { whole.instances.task[row] = (tasks[row % count] as Task).name; });
  return { ...whole, tasks, edges, critical: tasks.filter((_, at) => at % width === 1).map((task) => task.name) };
}
