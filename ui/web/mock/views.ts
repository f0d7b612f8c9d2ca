/** Made-up answers for schedules, approvals, triggerers, the cluster, templates and acts. */
import { NAMESPACES, NOW } from "./world.ts";

/** Returns the answer of a path below api/; undefined for a path that the mock does not know. */
export function answers(path: string, method: string, _query: URLSearchParams): unknown {
  if (path === "access") return { acts: { retry: { allowed: true, reason: "" }, cancel: { allowed: false, reason: "You may not patch Workflows in this namespace." } } };
  if (path.startsWith("acts/") && path.endsWith("/preview")) return { effects: ["12 instances run again."], command: "torpor retry nightly-census-10000 -n ingest", allowed: true, reason: "", warnings: [] };
  if (path.startsWith("acts/") && method === "POST") return { done: ["12 instances run again."], failed: [] };
  if (path === "templates") return [{ namespace: NAMESPACES[2], name: "nightly-census", description: "Counts all regions.", params: [{ name: "day", type: "string", pattern: "\\d{4}-\\d{2}-\\d{2}", required: true, description: "The day to count" }, { name: "mode", type: "string", enum: ["full", "delta"], default: "delta", required: false, description: "" }] }];
  if (path === "schedules" || path === "approvals") return [];
  if (path === "triggerers") return { replicas: [{ pool: "default", name: "triggerer-0", ready: true, shards: 128, waits: 5120, loopLag: 0.004, renewed: NOW - 2 }], pools: [], waits: { byClass: [], byHost: [], byAge: [] }, shared: [], blamed: [], due: [], notes: [] };
  if (path === "cluster") return { pods: 12, waits: 340, saved: { podHours: 1234.5, now: 340 }, slots: [], quotas: [], runs: { Running: 4 }, history: { t: [], pods: [], waits: [] }, notes: [] };
  return undefined;
}
