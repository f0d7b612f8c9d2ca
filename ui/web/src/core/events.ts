/** Parses server-sent events from pieces of text. Pure. An event above the limit is dropped, and `overflow` counts it. */

export interface ServerEvent { type: string; data: string; id: string }

const LIMIT = 64 * 1024 * 1024;

export class EventParser {
  overflow = 0;
  private rest = "";
  private type = "";
  private id = "";
  private data: string[] = [];
  private length = 0;

  /** Returns the events that the piece completes. Comments complete none. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (let at = text.indexOf("\n", from); at !== -1; at = text.indexOf("\n", from)) {
      const line = text.slice(from, text.charAt(at - 1) === "\r" && at > from ? at - 1 : at);
      from = at + 1;
      const event = this.line(line);
      if (event) events.push(event);
    }
    this.rest = text.slice(from);
    return events;
  }

  private line(line: string): ServerEvent | null {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charAt(colon + 1) === " " ? colon + 2 : colon + 1);
    if (field === "event") this.type = value;
    else if (field === "id") this.id = value;
    else if (field === "data") this.append(value);
    return null;
  }

  private append(value: string): void {
    this.length += value.length;
    if (this.length <= LIMIT) this.data.push(value);
  }

  private dispatch(): ServerEvent | null {
    const event = { type: this.type || "message", data: this.data.join("\n"), id: this.id };
    const complete = this.data.length > 0 && this.length <= LIMIT;
    if (this.length > LIMIT) this.overflow += 1;
    this.type = "";
    this.data = [];
    this.length = 0;
    return complete ? event : null;
  }
}
