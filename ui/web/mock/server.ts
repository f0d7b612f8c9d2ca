/** Serves the bundle and a made-up cluster on 127.0.0.1, for work on the page: `npm run mock`, then open the address. */
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { RUN_COLUMNS } from "../src/contract.ts";
import { NAMESPACES, NOW, random, runRows, snapshot } from "./world.ts";
import { logLines, taskDetail } from "./task.ts";
import { answers, graphRun } from "./views.ts";

const STATIC = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "torpor_ui", "static");
const TYPES: Record<string, string> = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html", ".map": "application/json" };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";
const port = Number(process.argv[2] ?? 8899);
const instances = Number(process.argv[3] ?? 240);
const rows = runRows(Number(process.argv[4] ?? 10_000));
const columns = RUN_COLUMNS;

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "Content-Type": "application/json", "Content-Security-Policy": CSP });
  response.end(JSON.stringify(body));
}

function stream(response: ServerResponse): (type: string, data: unknown) => void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const beat = setInterval(() => response.write(": beat\n\n"), 15_000);
  response.on("close", () => clearInterval(beat));
  return (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

function file(response: ServerResponse, path: string): void {
  const target = join(STATIC, normalize(path));
  if (!target.startsWith(STATIC) || !existsSync(target)) return void response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(target)] ?? "application/octet-stream", "Content-Security-Policy": CSP });
  createReadStream(target).pipe(response);
}

function session() {
  return { user: "alice@example.org", mode: "local", login: true, readOnly: false, version: "0.1.0", archive: true, csrf: "x", namespaces: NAMESPACES, defaultNamespaces: NAMESPACES, command: "torpor" };
}

function runs(query: URLSearchParams) {
  const names = (query.get("ns") ?? "").split(",").filter((each) => each !== "");
  const text = query.get("text") ?? "";
  const found = rows.filter((row) => (names.length === 0 || names.includes(String(row[1]))) && String(row[2]).includes(text) && (query.get("source") !== "live" || row[4] === "live") && (query.get("source") !== "archive" || row[4] === "archive"));
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 500);
  return { columns, rows: found.slice(from, from + limit), next: from + limit < found.length ? String(from + limit) : null, notes: [] };
}

function changing(response: ServerResponse, send: (type: string, data: unknown) => void, whole: ReturnType<typeof snapshot>): void {
  const timer = setInterval(() => {
    const at = Math.floor(random() * whole.instances.key.length);
    const changed = Object.fromEntries(Object.entries(whole.instances).map(([name, values]) => [name, [values[at]]]));
    whole.occupancy.t.push(Date.now() / 1000); whole.occupancy.pods.push(Math.round(random() * 10)); whole.occupancy.waits.push(Math.round(100 + random() * 10));
    send("delta", { instances: changed, occupancy: whole.occupancy });
  }, 1000);
  response.on("close", () => clearInterval(timer));
}

function run(path: string[], query: URLSearchParams, response: ServerResponse): void {
  const key = path.slice(0, 3).map(decodeURIComponent).join("/");
  const rest = path.slice(3);
  const whole = graphRun(key) ?? snapshot(key, instances);
  if (rest[0] === "stream") {
    const send = stream(response);
    send("snapshot", whole);
    if (key.startsWith("archive/")) send("end", {});
    else changing(response, send, whole);
  } else if (rest[0] === "timeline") {
    json(response, { start: NOW - 90000, end: NOW - 86400, rows: whole.instances.key.map((each, index) => ({ key: each, label: each, task: whole.instances.task[index], intervals: (whole.instances.intervals[index] ?? []).map((one) => [one[0], one[1] - 86400 + 60, (one[2] ?? NOW) - 86400 + 60, ...one.slice(3)]) })) });
  } else if (rest[0] === "yaml") response.writeHead(200, { "Content-Type": "text/plain" }).end("apiVersion: torpor.dev/v1alpha1\nkind: Workflow\n");
  else if (rest[0] === "task" && rest.at(-1) === "logs") logLines(stream(response), response);
  else if (rest[0] === "task" && rest.at(-1) === "result") response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify([{ region: "eu", rows: 5 }]));
  else if (rest[0] === "task") json(response, taskDetail(whole, rest.slice(1).map(decodeURIComponent).join("/")));
  else json(response, { status: 404, reason: "NotFound", message: `there is no ${rest.join("/")}`, remedy: "" }, 404);
  void query;
}

function api(path: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
  const parts = path.split("/").filter((each) => each !== "");
  if (path === "session") return json(response, session());
  if (path === "runs") return json(response, runs(query));
  if (path === "runs/stream") {
    const send = stream(response);
    query.set("source", "live");
    query.set("limit", "100000");
    return send("rows", { columns, rows: runs(query).rows });
  }
  if (parts[0] === "run") return run(parts.slice(1), query, response);
  const answer = answers(path, request.method ?? "GET", query);
  return answer === undefined ? json(response, { status: 404, reason: "NotFound", message: `the mock has no ${path}`, remedy: "" }, 404) : json(response, answer);
}

createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  if (url.pathname.startsWith("/api/")) return api(url.pathname.slice(5), url.searchParams, request, response);
  if (url.pathname.startsWith("/assets/") || url.pathname === "/icon.svg") return file(response, url.pathname);
  response.writeHead(200, { "Content-Type": "text/html", "Content-Security-Policy": CSP, "Cache-Control": "no-store" });
  return void response.end(readFileSync(join(STATIC, "index.html")));
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
