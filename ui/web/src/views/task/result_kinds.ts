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
