/** Text of the server: text nodes only, isolated from its surroundings, with hidden characters made visible. */
import { cut, parts } from "../core/characters.ts";

const LIMIT = 20_000;

export function Data({ text, limit = LIMIT }: { text: string | null | undefined; limit?: number }) {
  const shown = cut(text ?? "", limit);
  return <bdi>{parts(shown).map((part) => (part.hidden ? <span class="hidden-char">{part.text}</span> : part.text))}</bdi>;
}
