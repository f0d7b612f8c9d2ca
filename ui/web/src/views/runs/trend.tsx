/** The durations of the last runs of the list as bars. A bar leads to its run. */
import { useMemo } from "preact/hooks";
import { plain } from "../../core/characters.ts";
import { href, runPath } from "../../core/router.ts";
import { narrow } from "../../core/screen.ts";
import { duration } from "../../core/times.ts";
import { u } from "../../texts/runs.en.ts";
import type { Run } from "./run_list.ts";

const MOST = 90;
const MOST_NARROW = 40;

/** The last runs that have ended, the oldest first, and the length of the longest. Pure. */
export function trendOf(runs: Run[], most: number): { bars: Run[]; longest: number; median: number } {
  const bars: Run[] = [];
  for (const run of runs) {
    if (run.duration !== null) bars.push(run);
    if (bars.length === most) break;
  }
  const lengths = bars.map((run) => run.duration ?? 0).sort((a, b) => a - b);
  return { bars: bars.reverse(), longest: lengths.at(-1) ?? 0, median: lengths[Math.floor(lengths.length / 2)] ?? 0 };
}

export function Trend({ runs }: { runs: Run[] }) {
  const most = narrow.value ? MOST_NARROW : MOST;
  const { bars, longest, median } = useMemo(() => trendOf(runs, most), [runs, most]);
  if (bars.length < 3) return null;
  return (
    <figure class="trend" aria-label={u.trendTitle(bars.length)}>
      <div class="trend-bars">
        {bars.map((run) => (
          <a key={run.key} class="trend-slot" tabIndex={-1} href={href(runPath(run.key))} title={plain(u.trendBar(run.name, run.state, duration(run.duration ?? 0)))} aria-label={plain(u.trendBar(run.name, run.state, duration(run.duration ?? 0)))}>
            <span class={`trend-bar area tone-${run.tone}`} style={{ height: `${Math.max(4, (100 * (run.duration ?? 0)) / (longest || 1))}%` }} />
          </a>
        ))}
      </div>
      <figcaption class="trend-legend tiny soft"><span>{u.trend}</span><span>{u.median} {duration(median)}</span><span>{u.slowest} {duration(longest)}</span></figcaption>
    </figure>
  );
}
