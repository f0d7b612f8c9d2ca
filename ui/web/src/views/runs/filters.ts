/** The filters of the list of runs: from and to the query of the address, and as a request. Pure. */
import { since as parseTime } from "../../core/times.ts";
import { u } from "../../texts/runs.en.ts";

export interface Filters {
  text: string;
  states: string[];
  template: string;
  schedule: string;
  label: string;
  since: string;
  until: string;
  at: string;
  source: "all" | "live" | "archive";
}

export const NO_FILTERS: Filters = { text: "", states: [], template: "", schedule: "", label: "", since: "", until: "", at: "", source: "all" };
const MOMENT = 60;

export function readFilters(query: URLSearchParams): Filters {
  const source = query.get("source");
  return {
    text: query.get("text") ?? "", states: (query.get("state") ?? "").split(",").filter((each) => each !== ""), template: query.get("template") ?? "",
    schedule: query.get("schedule") ?? "", label: query.get("label") ?? "", since: query.get("since") ?? "", until: query.get("until") ?? "", at: query.get("at") ?? "",
    source: source === "live" || source === "archive" ? source : "all",
  };
}

/** The filters as a query of the address; null for each that is not set. */
export function writeFilters(filters: Filters): Record<string, string | null> {
  const { states, source, ...texts } = filters;
  const query: Record<string, string | null> = { state: states.join(",") || null, source: source === "all" ? null : source };
  for (const [name, value] of Object.entries(texts)) query[name] = value || null;
  return query;
}

/** The filters as the query of a request: ages become moments, and one moment becomes a minute. */
export function requestQuery(filters: Filters, namespaces: string[], now: number): Record<string, string | number | null> {
  const at = filters.at === "" ? null : parseTime(filters.at, now);
  const from = at ?? (filters.since === "" ? null : parseTime(filters.since, now));
  const until = at === null ? (filters.until === "" ? null : parseTime(filters.until, now)) : at + MOMENT;
  return {
    ns: namespaces.join(","), text: filters.text, state: filters.states.join(","), template: filters.template, schedule: filters.schedule, label: filters.label,
    since: from === null ? null : Math.round(from), until: until === null ? null : Math.round(until),
  };
}

export function isFiltered(filters: Filters): boolean {
  return JSON.stringify(filters) !== JSON.stringify(NO_FILTERS);
}

/** A moment as the value of an input of type datetime-local, in the zone of the viewer. */
export function localInput(seconds: number): string {
  const date = new Date(seconds * 1000);
  const pad = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** The last moment at which the clock of the viewer showed an hour. */
export function lastHour(hour: number, now: number): number {
  const date = new Date(now * 1000);
  date.setHours(hour, 0, 0, 0);
  if (date.getTime() / 1000 > now) date.setDate(date.getDate() - 1);
  return date.getTime() / 1000;
}

export interface TimeChoice { label: string; filters: Pick<Filters, "since" | "until" | "at"> }

export function timeChoices(now: number): TimeChoice[] {
  const age = (since: string) => ({ since, until: "", at: "" });
  const six = lastHour(6, now);
  return [
    { label: u.anyTime, filters: age("") }, { label: u.times.hour, filters: age("1h") }, { label: u.times.day, filters: age("24h") }, { label: u.times.week, filters: age("7d") }, { label: u.times.month, filters: age("30d") },
    { label: u.times.night, filters: { since: localInput(six - 6 * 3600), until: localInput(six), at: "" } },
    { label: u.times.three, filters: { since: "", until: "", at: localInput(lastHour(3, now)) } },
  ];
}

/** What the filter of time says, in words. */
export function timeText(filters: Filters): string {
  const words = (text: string): string => text.replace("T", " ");
  if (filters.at) return u.at(words(filters.at));
  if (filters.since && filters.until) return u.between(words(filters.since), words(filters.until));
  if (filters.since) return /^\d+[smhdw]$/.test(filters.since) ? u.sinceAge(filters.since) : u.after(words(filters.since));
  return filters.until ? u.before(words(filters.until)) : u.anyTime;
}

export interface SavedFilter { name: string; query: string }

/** Reads saved filters from what the browser stored; what is damaged is left out. */
export function readSaved(stored: string | null): SavedFilter[] {
  try {
    const value: unknown = JSON.parse(stored ?? "[]");
    const valid = (each: unknown): each is SavedFilter => typeof each === "object" && each !== null && typeof (each as SavedFilter).name === "string" && typeof (each as SavedFilter).query === "string";
    return Array.isArray(value) ? value.filter(valid).slice(0, 100) : [];
  } catch {
    return [];
  }
}
