/** A form from the typed parameters of a template: what each field shows, and the value that its text means. Pure.

The API server decides what is valid; these checks only tell early what it would reject. */

export type ParamType = "string" | "integer" | "number" | "boolean" | "array" | "object";

export interface Param {
  name: string;
  type: ParamType;
  enum?: readonly unknown[] | null;
  pattern?: string | null;
  /** Limits of a number, or of the length of a text. */
  min?: number;
  max?: number;
  default?: unknown;
  required?: boolean;
  description?: string | null;
}

export type FieldKind = "choice" | "switch" | "number" | "text" | "json";
export type Parsed = { unset: true } | { unset: false; value: unknown } | { problem: string };

export function fieldKind(param: Param): FieldKind {
  if (param.enum != null && param.enum.length > 0) return "choice";
  if (param.type === "boolean") return "switch";
  if (param.type === "integer" || param.type === "number") return "number";
  return param.type === "string" ? "text" : "json";
}

/** The text that a field starts with: the value of an earlier run, else the default. */
export function initialText(param: Param, given: Readonly<Record<string, unknown>>): string {
  const value = param.name in given ? given[param.name] : param.default;
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, param.type === "object" ? 2 : 0);
}

/** The value of a field's text. An empty text leaves the parameter unset, so that its default applies. */
export function parseText(param: Param, text: string): Parsed {
  if (text === "") {
    return param.required === true && param.default == null ? { problem: "required" } : { unset: true };
  }
  if (fieldKind(param) === "choice") {
    const value = (param.enum ?? []).find((candidate) => textOf(candidate) === text);
    return value === undefined ? { problem: "enum" } : { unset: false, value };
  }
  if (param.type === "string") return matches(param, text) ? within(param, [...text].length, text) : { problem: "pattern" };
  const parsed = parseJson(param, text);
  return "value" in parsed && typeof parsed.value === "number" ? within(param, parsed.value, parsed.value) : parsed;
}

function within(param: Param, size: number, value: unknown): Parsed {
  const tooSmall = param.min !== undefined && size < param.min;
  return tooSmall || (param.max !== undefined && size > param.max) ? { problem: "limits" } : { unset: false, value };
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The parameters of the run, or the problem of each field that has one. */
export function parseForm(
  params: readonly Param[],
  texts: Readonly<Record<string, string>>,
): { values: Record<string, unknown>; problems: Record<string, string> } {
  const values: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const param of params) {
    const parsed = parseText(param, texts[param.name] ?? "");
    if ("problem" in parsed) problems[param.name] = parsed.problem;
    else if (!parsed.unset) values[param.name] = parsed.value;
  }
  return { values, problems };
}

/** Parameters of a run without a template, by the types of their values. */
export function inferParams(values: Readonly<Record<string, unknown>>): Param[] {
  return Object.entries(values).map(([name, value]) => ({ name, type: typeOf(value), required: false }));
}

function typeOf(value: unknown): ParamType {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "boolean") return "boolean";
  return typeof value === "object" && value !== null ? "object" : "string";
}

function matches(param: Param, text: string): boolean {
  if (param.pattern == null) return true;
  try {
    return new RegExp(`^(?:${param.pattern})$`, "u").test(text);
  } catch {
    return true; // RE2 has some syntax of its own; the server decides
  }
}

function parseJson(param: Param, text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: param.type };
  }
  const actual = typeOf(value);
  const fits = actual === param.type || (param.type === "number" && actual === "integer");
  return fits && value !== null ? { unset: false, value } : { problem: param.type };
}
