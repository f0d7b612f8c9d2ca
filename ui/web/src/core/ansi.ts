/** Splits a log line at its colour sequences (SGR). All other control sequences stay, and are shown as marks. Pure. */

export interface Span { text: string; style: string }

const SGR = /\u001b\[([0-9;:]{0,40})m/g;
const COLORS = ["soft", "bad", "ok", "warn", "run", "wait", "run", "plain"];

export function spans(line: string): Span[] {
  if (!line.includes("\u001b[")) return [{ text: line, style: "" }];
  const found: Span[] = [];
  let [from, color, bold] = [0, "", false];
  for (const match of line.matchAll(SGR)) {
    if (match.index > from) found.push({ text: line.slice(from, match.index), style: style(color, bold) });
    from = match.index + match[0].length;
    for (const code of (match[1] ?? "").split(/[;:]/).map(Number)) {
      if (code === 0) [color, bold] = ["", false];
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code === 39) color = "";
      else if (code >= 30 && code <= 37) color = COLORS[code - 30] ?? "";
      else if (code >= 90 && code <= 97) color = COLORS[code - 90] ?? "";
      else if (code === 38 || code === 48) break;
    }
  }
  if (from < line.length) found.push({ text: line.slice(from), style: style(color, bold) });
  return found;
}

function style(color: string, bold: boolean): string {
  return [color === "" || color === "plain" ? "" : `ansi-${color}`, bold ? "ansi-bold" : ""].filter((each) => each !== "").join(" ");
}

/** The line without colour sequences, for search and copies. */
export function withoutColors(line: string): string {
  return line.includes("\u001b[") ? line.replace(SGR, "") : line;
}
