/**
 * Where the viewer is: a path and a query below the base path. Views keep their filters in the query.
 *
 * Links are plain `<a href>` with hrefs of `href()`; a click on one changes the location without a load of the page.
 */
import { computed, signal } from "@preact/signals";
import { baseUrl } from "./base.ts";

export interface Location { path: string[]; query: URLSearchParams }
export type Query = Record<string, string | number | null | undefined>;

function read(url: URL): Location {
  const base = baseUrl().pathname;
  const inside = url.pathname.startsWith(base) ? url.pathname.slice(base.length) : "";
  return { path: inside.split("/").filter((each) => each !== "").map(decode), query: url.searchParams };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const location = signal<Location>({ path: [], query: new URLSearchParams() });
export const path = computed(() => location.value.path.map(encodeURIComponent).join("/"));
let asked: (() => string | null) | null = null;

/** Returns a path with encoded parts: `pathOf("run", "live", "team-a", "ingest-1")`. */
export function pathOf(...parts: string[]): string {
  return parts.map(encodeURIComponent).join("/");
}

/** The path of a run's page by its key, such as "live/NS/NAME". */
export function runPath(key: string, ...more: string[]): string {
  return pathOf("run", ...key.split("/"), ...more);
}

function withQuery(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** Returns the href of a path. The chosen namespaces stay in the query of each link. */
export function href(target: string, query: Query = {}): string {
  return new URL(target + withQuery({ ns: location.value.query.get("ns"), ...query }), baseUrl()).href;
}

/** Returns the href of this path with parts of the query changed; null removes one. */
export function hrefWith(changes: Query): string {
  const query: Query = Object.fromEntries(location.value.query);
  return new URL(path.value + withQuery({ ...query, ...changes }), baseUrl()).href;
}

/** Goes to an href below the base path. `replace`: without an entry in the browser's history. */
export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const url = new URL(to, baseUrl());
  if (url.origin !== baseUrl().origin || !url.pathname.startsWith(baseUrl().pathname)) return;
  if (url.href === window.location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", url.href);
  location.value = read(url);
}

/** Changes parts of the query of this view. */
export function setQuery(changes: Query, { replace = true }: { replace?: boolean } = {}): void {
  navigate(hrefWith(changes), { replace });
}

/** Asks before a click leaves the view, where `question` returns a text. */
export function beforeLeaving(question: (() => string | null) | null): void {
  asked = question;
}

function clicked(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target !== "" || link.hasAttribute("download") || link.rel.includes("external") || !link.href) return;
  const url = new URL(link.href);
  const base = baseUrl();
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname) || url.pathname.startsWith(`${base.pathname}api/`)) return;
  if (url.hash !== "" && url.pathname === window.location.pathname) return;
  event.preventDefault();
  const question = asked?.() ?? null;
  if (question === null || confirm(question)) navigate(url.href);
}

export function startRouter(): void {
  location.value = read(new URL(window.location.href));
  window.addEventListener("popstate", () => (location.value = read(new URL(window.location.href))));
  document.addEventListener("click", clicked);
}
