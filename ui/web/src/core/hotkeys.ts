/** Keys of the page and of each view. `?` lists them; "g r" is a sequence; "mod" is Ctrl or Command. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Hotkey { keys: string; label: string; group: string; run: () => void; inFields?: boolean }

export const hotkeys = signal<Hotkey[]>([]);
const SEQUENCE_LIMIT = 900;
let pending = "";
let pendingSince = 0;

/** The name of a key press: "k", "mod+k", "?", "ArrowLeft". */
export function pressed(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shifted = event.shiftKey && event.key.length > 1 ? "shift+" : "";
  return `${event.ctrlKey || event.metaKey ? "mod+" : ""}${event.altKey ? "alt+" : ""}${shifted}${key}`;
}

function inField(event: KeyboardEvent): boolean {
  const target = event.target;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.key === "Control" || event.key === "Shift" || event.key === "Meta") return;
  const key = pressed(event);
  const sequence = pending !== "" && Date.now() - pendingSince < SEQUENCE_LIMIT ? `${pending} ${key}` : key;
  const typing = inField(event);
  const modal = document.querySelector("dialog[open]") !== null;
  const usable = [...hotkeys.value].reverse().filter((each) => (!typing || each.inFields) && (!modal || each.inFields));
  const hit = usable.find((each) => each.keys === sequence) ?? usable.find((each) => each.keys === key);
  pending = "";
  if (hit) {
    event.preventDefault();
    hit.run();
  } else if (usable.some((each) => each.keys.startsWith(`${key} `))) {
    pending = key;
    pendingSince = Date.now();
  }
}

export function addHotkeys(added: Hotkey[]): () => void {
  hotkeys.value = [...hotkeys.peek(), ...added];
  return () => (hotkeys.value = hotkeys.peek().filter((each) => !added.includes(each)));
}

/** Adds keys while a component is shown. `again`: what the keys depend on. */
export function useHotkeys(added: Hotkey[], again: unknown[] = []): void {
  useEffect(() => addHotkeys(added), again);
}

export function startHotkeys(): void {
  document.addEventListener("keydown", handle);
}
