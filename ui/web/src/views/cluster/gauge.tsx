/** How much of something limited is in use. */
import { Data } from "../../components/data.tsx";
import { plain } from "../../core/characters.ts";
import { c } from "../../texts/lists.en.ts";

const NEARLY_FULL = 0.9;

export interface GaugeProps { name: string; namespace: string; used: number; size: number; note: string }

export function Gauge({ name, namespace, used, size, note }: GaugeProps) {
  const share = size > 0 ? Math.min(1, used / size) : used > 0 ? 1 : 0;
  const tone = share >= 1 ? "bad" : share >= NEARLY_FULL ? "warn" : "run";
  return (
    <div class="gauge">
      <div class="row small"><span class="clip strong"><Data text={name} limit={120} /></span><span class="soft clip"><Data text={namespace} limit={80} /></span><span class="grow" />{note ? <span class="soft">{note}</span> : null}<span>{c.used(used, size)}</span></div>
      <div class="bar-track" role="meter" aria-label={`${plain(name)} ${plain(namespace)}`} aria-valuemin={0} aria-valuemax={size} aria-valuenow={Math.min(used, size)} aria-valuetext={c.used(used, size)}><span class={`bar-fill area tone-${tone}`} style={{ width: `${100 * share}%` }} /></div>
    </div>
  );
}
