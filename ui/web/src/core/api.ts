/** Requests to the server: JSON in and out, with the session's CSRF token, and problems as values. */
import { signal } from "@preact/signals";
import type { Problem } from "../contract.ts";
import { t } from "../texts.en.ts";
import { serverUrl } from "./base.ts";

export class ServerProblem extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** True once the server has answered 401: the session has ended, and the shell offers to log in. */
export const loggedOut = signal(false);
/** Seconds by which the server's clock is ahead of this machine's. */
export const clockSkew = signal(0);
let csrf = "";

export function setCsrf(token: string): void {
  csrf = token;
}

export function asProblem(error: unknown): Problem {
  if (error instanceof ServerProblem) return error.problem;
  const message = error instanceof Error ? error.message : String(error);
  return { status: 0, reason: "Unreachable", message: t.unreachable, remedy: message };
}

/** Returns the problem that an answer other than 2xx describes. */
export async function readProblem(response: Response): Promise<Problem> {
  const fallback: Problem = { status: response.status, reason: response.statusText, message: t.status(response.status), remedy: "" };
  try {
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? { ...fallback, ...body } : fallback;
  } catch {
    return fallback;
  }
}

function noteClock(response: Response): void {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (!Number.isNaN(date)) clockSkew.value = Math.round(date / 1000 - Date.now() / 1000);
}

async function request(method: string, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(serverUrl(path), { method, credentials: "same-origin", redirect: "error", ...init });
  noteClock(response);
  if (response.ok) return response;
  if (response.status === 401) loggedOut.value = true;
  throw new ServerProblem(await readProblem(response));
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request("GET", path, { headers: { Accept: "application/json" }, signal: signal ?? null });
  return (await response.json()) as T;
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await request("GET", path, { signal: signal ?? null })).text();
}

/** The body of an answer as text, or its type alone if the type is an image or other bytes. */
export async function getBody(path: string, signal?: AbortSignal): Promise<{ type: string; text: string | null }> {
  const controller = new AbortController();
  signal?.addEventListener("abort", () => controller.abort());
  const response = await request("GET", path, { signal: controller.signal });
  const type = response.headers.get("Content-Type") ?? "";
  if (/^(text\/|application\/json)/.test(type)) return { type, text: await response.text() };
  controller.abort();
  return { type, text: null };
}

export async function send<T>(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { "X-Torpor-CSRF": csrf, Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await request(method, path, { headers, body: body === undefined ? null : JSON.stringify(body) });
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** A query string of the values that are given: `queryOf({ns: "a", limit: 500})`. */
export function queryOf(values: Record<string, string | number | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}
