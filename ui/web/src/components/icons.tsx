/** Icons as paths of 16 by 16, drawn in the colour of the text. */
import type { Tone } from "../contract.ts";

const STROKED: Record<string, string> = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2.5l6 11H2l6-11zM8 6.5v3.2M8 11.6v.2",
  skip: "M3 4l4.5 4L3 12M8.5 4L13 8l-4.5 4",
  dots: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  ring: "M8 3.2a4.8 4.8 0 110 9.6 4.8 4.8 0 010-9.6z",
  search: "M7 2.5a4.5 4.5 0 110 9 4.5 4.5 0 010-9zM10.4 10.4l3.4 3.4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  sun: "M8 5.2a2.8 2.8 0 110 5.6 2.8 2.8 0 010-5.6zM8 1.3v1.4M8 13.3v1.4M1.3 8h1.4M13.3 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1",
  moon: "M13 9.7A5.6 5.6 0 016.3 3a5.6 5.6 0 106.7 6.7z",
  system: "M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  filter: "M2.5 3.5h11L9.3 8.6v4l-2.6-1.3V8.6z",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M2.8 13.3h10.4",
  refresh: "M13 8a5 5 0 11-1.6-3.7M13.2 2.2v2.6h-2.6",
  more: "M8 3.5v.1M8 8v.1M8 12.5v.1",
  link: "M6.5 3.5h-3v9h9v-3M9 2.5h4.5V7M13.2 2.8L7.5 8.5",
  keyboard: "M1.8 4h12.4v8H1.8zM4.5 6.7h.1M7 6.7h.1M9.5 6.7h.1M12 6.7h-.1M5 9.5h6",
  pod: "M8 1.8l5.4 3v6.4L8 14.2l-5.4-3V4.8zM8 8l5.4-3.2M8 8L2.6 4.8M8 8v6.2",
  hourglass: "M4 2.5h8M4 13.5h8M5 2.5v2.2L8 8l3-3.3V2.5M5 13.5v-2.2L8 8l3 3.3v2.2",
  clock: "M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11zM8 5v3.2l2.2 1.4",
  path: "M3 12.5c5 0 5-9 10-9M10.5 1.5l2.7 2-2 2.7",
  overlay: "M2.5 5h7v4h-7zM6.5 9.5v2h7v-4h-3.5",
  table: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 6.3V13",
  out: "M6 2.5H3v11h3M7 8h6.5M11 5.5L13.5 8 11 10.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  user: "M8 2.8a2.6 2.6 0 110 5.2 2.6 2.6 0 010-5.2zM2.8 13.5c.6-2.6 2.6-3.9 5.2-3.9s4.6 1.3 5.2 3.9",
  follow: "M8 2.5v9M4.5 8.5L8 12l3.5-3.5M3 14h10",
};
const FILLED: Record<string, string> = { play: "M5 3.2v9.6l7.6-4.8z", pause: "M4.5 3.5h2.6v9H4.5zM8.9 3.5h2.6v9H8.9z", stop: "M4 4h8v8H4z" };

export type IconName = keyof typeof STROKED | keyof typeof FILLED;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const filled = FILLED[name];
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" class="icon">
      {filled ? <path d={filled} fill="currentColor" /> : <path d={STROKED[name]} fill="none" stroke="currentColor" stroke-width={name === "dots" || name === "more" ? 2.2 : 1.5} stroke-linecap="round" stroke-linejoin="round" />}
    </svg>
  );
}

/** The icon of each tone, so that no state is told by colour alone. */
export const TONE_ICONS: Record<Tone, IconName> = { ok: "check", run: "play", wait: "hourglass", queue: "dots", warn: "warn", bad: "cross", skip: "skip", idle: "ring" };
