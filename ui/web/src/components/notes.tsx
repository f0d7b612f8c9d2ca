/** What the server could not read or left out: one box, the first lines of which are shown. */
import { count } from "../core/numbers.ts";
import { Data } from "./data.tsx";
import { Icon } from "./icons.tsx";

const SHOWN = 4;

export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <div class="note"><Icon name="warn" size={14} />
      <ul class="notes">{notes.slice(0, SHOWN).map((note) => <li class="wrap"><Data text={note} limit={1000} /></li>)}{notes.length > SHOWN ? <li>+{count(notes.length - SHOWN)}</li> : null}</ul>
    </div>
  );
}
