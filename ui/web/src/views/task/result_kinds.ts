/** How a result may be shown, and a list of objects as a table. Pure. */

export type Kind = "table" | "tree" | "text";
export interface TableData { columns: string[]; rows: string[][] }

const MOST_COLUMNS = 30;
const MOST_ROWS = 100_000;

/** Returns the ways to show a value, the best first. A value that is no JSON is undefined. */
export function kinds(value: unknown, table: boolean): Kind[] {
  if (value === undefined) return ["text"];
  const nested = typeof value === "object" && value !== null;
  return [...(table ? (["table"] as const) : []), ...(nested ? (["tree"] as const) : []), "text"];
}

/** Returns a list of flat objects as a table; null for any other value. */
export function tableOf(value: unknown): TableData | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const objects = value.slice(0, 200).every((row) => typeof row === "object" && row !== null && !Array.isArray(row));
  if (!objects) return null;
  const columns = [...new Set(value.slice(0, 200).flatMap((row) => Object.keys(row as object)))].slice(0, MOST_COLUMNS);
  if (columns.length === 0) return null;
  const rows = value.slice(0, MOST_ROWS).map((row) => columns.map((name) => cell((row as Record<string, unknown> | null)?.[name])));
  return { columns, rows };
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the value of a text: JSON, lines of JSON, or a file of comma- or tab-separated values; undefined for others. */
export function parsed(text: string, name: string): unknown {
  const separator = /\.csv$/i.test(name) ? "," : /\.tsv$/i.test(name) ? "\t" : null;
  if (separator !== null) return separated(text, separator);
  try {
    return /\.jsonl$/i.test(name) ? text.split("\n").filter((line) => line.trim() !== "").slice(0, MOST_ROWS).map((line) => JSON.parse(line) as unknown) : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Rows of a file with a header as objects (RFC 4180). */
function separated(text: string, separator: string): Record<string, string>[] | undefined {
  const rows = records(text, separator);
  const header = rows[0];
  if (!header || rows.length < 2) return undefined;
  return rows.slice(1).map((row) => Object.fromEntries(header.map((name, column) => [name || `column ${column + 1}`, row[column] ?? ""])));
}

/** Reads each character once. A quote that is not closed ends with the text. */
function records(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length <= MOST_ROWS) {
    const [value, next] = text[at] === '"' ? quoted(text, at) : bare(text, at, separator);
    row.push(value);
    at = next;
    if (text[at] === separator) {
      at += 1;
      if (at < text.length) continue;
      row.push("");
    }
    while (text[at] === "\r" || text[at] === "\n") at += text[at] === "\n" || text[at + 1] !== "\n" ? 1 : 2;
    rows.push(row);
    row = [];
  }
  return rows;
}

function quoted(text: string, from: number): [value: string, next: number] {
  let [value, start] = ["", from + 1];
  for (let at = text.indexOf('"', start); ; at = text.indexOf('"', start)) {
    if (at === -1) return [value + text.slice(start), text.length];
    value += text.slice(start, at);
    if (text[at + 1] !== '"') return [value, at + 1];
    value += '"';
    start = at + 2;
  }
}

function bare(text: string, from: number, separator: string): [value: string, next: number] {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return [text.slice(from, at), at];
}
