/** Who looks, and at which namespaces. */
import { computed, signal } from "@preact/signals";
import type { Problem, Session } from "../contract.ts";
import { asProblem, getJson, loggedOut, send, setCsrf } from "./api.ts";
import { location, setQuery } from "./router.ts";
import { store, stored } from "./storage.ts";

const KEY = "torpor.namespaces";
export const session = signal<Session | null>(null);
export const sessionProblem = signal<Problem | null>(null);

/** The namespaces of all lists: of the URL, else those chosen last, else those of the server. */
export const namespaces = computed<string[]>(() => {
  const query = location.value.query.get("ns");
  if (query !== null) return query.split(",").filter((each) => each !== "");
  return remembered() ?? session.value?.defaultNamespaces ?? [];
});

function remembered(): string[] | null {
  const known = new Set(session.value?.namespaces ?? []);
  const kept = (stored(KEY) ?? "").split(",").filter((each) => known.has(each));
  return kept.length > 0 ? kept : null;
}

export function chooseNamespaces(chosen: string[]): void {
  store(KEY, chosen.join(","));
  setQuery({ ns: chosen.join(",") }, { replace: false });
}

export async function loadSession(): Promise<void> {
  try {
    const loaded = await getJson<Session>("api/session");
    setCsrf(loaded.csrf);
    session.value = loaded;
    sessionProblem.value = null;
    loggedOut.value = !loaded.login;
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status !== 401) sessionProblem.value = problem;
  }
}

export async function login(token: string): Promise<void> {
  await send("POST", "api/session", { token });
  await loadSession();
}

export async function logout(): Promise<void> {
  await send("DELETE", "api/session");
  await loadSession();
}
