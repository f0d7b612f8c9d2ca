/** Counts as bars with their numbers; what has no room is one bar of others. */
import { Data } from "../../components/data.tsx";
import type { Tally } from "../../contract_lists.ts";
import { count } from "../../core/numbers.ts";
import { w } from "../../texts/lists.en.ts";
import { topTallies } from "./waits.ts";

export function Bars({ label, tallies, inOrder = false }: { label: string; tallies: Tally[]; inOrder?: boolean }) {
  if (tallies.length === 0) return <p class="soft">{w.nothing}</p>;
  const shown = inOrder ? tallies : topTallies(tallies, w.others);
  const most = Math.max(1, ...shown.map(([, each]) => each));
  return (
    <ul class="bars" aria-label={label}>
      {shown.map(([name, each]) => (
        <li class="bar-line">
          <span class="clip"><Data text={name} limit={120} /></span>
          <span class="bar-track" aria-hidden="true"><span class="bar-fill area tone-wait" style={{ width: `${(100 * each) / most}%` }} /></span>
          <span class="end">{count(each)}</span>
        </li>
      ))}
    </ul>
  );
}
