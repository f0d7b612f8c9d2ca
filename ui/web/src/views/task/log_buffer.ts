/** The lines of a log as they arrive: bounded, searchable, and filtered by severity, source and attempt. Pure. */
import type { LogLine } from "../../contract.ts";
import { withoutColors } from "../../core/ansi.ts";

export interface LogFilter { text: string; severity: string; source: string }

export const MOST_LINES = 50_000;
const ORDER = ["debug", "info", "warning", "error"];

/** The rank of a severity: higher is more severe. Unknown words rank as info. */
export function rankOf(severity: string): number {
  const word = severity.toLowerCase();
  if (word.startsWith("trace") || word.startsWith("debug")) return 0;
  if (word.startsWith("warn")) return 2;
  if (/^(err|crit|fatal|alert|emerg|panic)/.test(word)) return 3;
  return 1;
}

export class LogBuffer {
  lines: LogLine[] = [];
  dropped = 0;
  readonly sources = new Set<string>();

  add(lines: LogLine[]): void {
    for (const line of lines) {
      this.lines.push(line);
      if (this.sources.size < 200) this.sources.add(line.source);
    }
    const over = this.lines.length - MOST_LINES;
    if (over > MOST_LINES / 10) {
      this.lines = this.lines.slice(over);
      this.dropped += over;
    }
  }

  clear(): void {
    this.lines = [];
    this.dropped = 0;
    this.sources.clear();
  }

  filtered(filter: LogFilter): LogLine[] {
    const text = filter.text.toLowerCase();
    const least = ORDER.indexOf(filter.severity);
    if (text === "" && least <= 0 && filter.source === "") return this.lines;
    return this.lines.filter((line) => (filter.source === "" || line.source === filter.source) && (least <= 0 || rankOf(line.severity) >= least) && (text === "" || withoutColors(line.text).toLowerCase().includes(text)));
  }
}
