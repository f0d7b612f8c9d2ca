/** What the command palette offers: commands of the shell and of the view that is shown. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Command { id: string; title: string; group: string; keys?: string; disabled?: string; run: () => void }

export const commands = signal<Command[]>([]);

export function addCommands(added: Command[]): () => void {
  commands.value = [...commands.peek(), ...added];
  return () => (commands.value = commands.peek().filter((each) => !added.includes(each)));
}

/** Adds commands while a component is shown. `again`: what the commands depend on. */
export function useCommands(added: Command[], again: unknown[] = []): void {
  useEffect(() => addCommands(added), again);
}

/** Whether all letters of the words typed occur in the title in their order; a lower rank is a better match. Pure. */
export function rank(title: string, typed: string): number | null {
  const text = title.toLowerCase();
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let total = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at === -1) return null;
    total += at === 0 || /[\s\-_/.:]/.test(text.charAt(at - 1)) ? at / 100 : 1 + at / 100;
  }
  return total;
}
