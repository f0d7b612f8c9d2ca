/** The tones that the page knows. */
import type { Tone } from "../contract.ts";

export const TONES: readonly Tone[] = ["ok", "run", "wait", "queue", "warn", "bad", "skip", "idle"];

/** A tone of the server; one that this version does not know is drawn as idle. */
export function knownTone(tone: string | undefined): Tone {
  return (TONES as readonly string[]).includes(tone ?? "") ? (tone as Tone) : "idle";
}
