/** A state: its words as the server wrote them, in the colour, icon and pattern of its tone. */
import type { Tone } from "../contract.ts";
import { knownTone } from "../core/tones.ts";
import { Data } from "./data.tsx";
import { Icon, TONE_ICONS } from "./icons.tsx";

export function ToneMark({ tone, size = 14 }: { tone: Tone | string | undefined; size?: number }) {
  const known = knownTone(tone);
  return <span class={`tone-mark tone-${known}`}><Icon name={TONE_ICONS[known]} size={size} /></span>;
}

export function StateBadge({ state, tone, quiet = false }: { state: string; tone: Tone | string | undefined; quiet?: boolean }) {
  const known = knownTone(tone);
  return (
    <span class={`badge tone-${known}${quiet ? " quiet" : ""}`}>
      <Icon name={TONE_ICONS[known]} size={12} /><span class="clip"><Data text={state} limit={80} /></span>
    </span>
  );
}
