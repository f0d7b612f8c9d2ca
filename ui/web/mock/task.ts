/** Made-up details and logs of an instance. */
import type { ServerResponse } from "node:http";
import type { RunSnapshot, TaskDetail } from "../src/contract.ts";
import { Instances } from "../src/core/instances.ts";
import { NOW } from "./world.ts";

export function taskDetail(whole: RunSnapshot, key: string): TaskDetail {
  const instances = new Instances(whole.instances);
  const row = instances.row(Math.max(0, instances.index(key)));
  const pods = (row.intervals ?? []).filter((each) => each[0] === "running");
  const attempts = [...new Set(pods.map((each) => each[4]))].map((attempt) => ({
    attempt,
    segments: (row.intervals ?? []).filter((each) => each[4] === attempt && (each[0] === "running" || each[0] === "waiting")).map((each) => ({ segment: each[5], launch: each[6], pod: each[0] === "running" ? each[3] : "", node: each[0] === "running" ? "node-3" : "", phase: each[0], start: each[1], end: each[2], reason: each[7], message: each[0] === "waiting" ? each[3] : "" })),
  }));
  const history = (row.intervals ?? []).map((each) => ({ at: each[1], state: each[0], attempt: each[4], segment: each[5], reason: each[7], pod: each[3] }));
  const table = Array.from({ length: 120 }, (_, index) => ({ region: `r-${index}`, rows: index * 17, ok: index % 3 > 0, note: index === 4 ? "<img src=x onerror=alert(1)>" : "" }));
  return {
    ...row, attempts, history, args: { path: "s3://drop/eu.csv", day: "2026-11-24", flags: [1, 2, 3] },
    result: { present: true, size: 4096, type: "application/json", where: "inline", inline: table },
    why: whole.run.why.slice(0, 1), trigger: { class: "torpor.triggers.Http", kwargs: { url: "https://example.org/drop/_SUCCESS", status: 200 }, deadline: NOW + 7800, shard: 17, pool: "default" }, event: null,
    podEvents: [{ time: NOW - 300, type: "Normal", reason: "Scheduled", message: "Successfully assigned ingest/load-3 to node-3", pod: "load-3-a1-s0", count: 1 }, { time: NOW - 290, type: "Warning", reason: "BackOff", message: "Back-off pulling image", pod: "load-3-a1-s0", count: 4 }],
    links: [{ title: "Dashboard", url: "https://example.org/d/1" }], yaml: { taskrun: "apiVersion: torpor.dev/v1alpha1\nkind: TaskRun\nmetadata:\n  name: nightly-load-3\n", pod: "apiVersion: v1\nkind: Pod\n" },
  };
}

export function logLines(send: (type: string, data: unknown) => void, response: ServerResponse): void {
  const severities = ["info", "info", "info", "debug", "warning", "error"];
  const line = (index: number) => ({ t: NOW - 2000 + index, source: index % 40 > 30 ? "wait" : "load-3-a1-s0", stream: "stdout", severity: severities[(index * 7) % 6] as string, text: index === 5 ? "\u001b[31mred\u001b[0m <script>alert(1)</script> \u202ertl" : `row ${index}: loaded ${index * 31} records from s3://drop/eu.csv in ${(index * 13) % 900} ms`, attempt: index < 500 ? 1 : 2, segment: 0 });
  send("lines", Array.from({ length: 2000 }, (_, index) => line(index)));
  let next = 2000;
  const timer = setInterval(() => send("lines", [line(next += 1)]), 700);
  response.on("close", () => clearInterval(timer));
}
