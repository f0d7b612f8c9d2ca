/** Whether a Schedule starts runs. */
import { StateBadge } from "../../components/tone.tsx";
import type { ScheduleRow } from "../../contract_lists.ts";
import { s } from "../../texts/lists.en.ts";

export function ScheduleState({ row }: { row: ScheduleRow }) {
  if (row.suspended) return <StateBadge state={s.paused} tone={row.tone ?? "skip"} />;
  return row.ready ? <StateBadge state={s.ready} tone={row.tone ?? "ok"} /> : <StateBadge state={s.notReady} tone={row.tone ?? "bad"} />;
}
