/** The colours and patterns of the canvas in the present theme. */
import type { Tone } from "../../contract.ts";
import { token } from "../../core/theme.ts";
import { TONES } from "../../core/tones.ts";

export interface Palette {
  bg: string; surface: string; line: string; text: string; soft: string; hover: string; selected: string; accent: string; font: string;
  tones: Record<Tone, string>; softTones: Record<Tone, string>;
  waiting: CanvasPattern | string; waitingSoft: string; ghost: string;
}

export function readPalette(context: CanvasRenderingContext2D, ratio: number): Palette {
  const tones = Object.fromEntries(TONES.map((tone) => [tone, token(`--tone-${tone}`)])) as Record<Tone, string>;
  const softTones = Object.fromEntries(TONES.map((tone) => [tone, token(`--tone-${tone}-soft`)])) as Record<Tone, string>;
  return {
    bg: token("--bg"), surface: token("--surface"), line: token("--line"), text: token("--text"), soft: token("--text-soft"), hover: token("--hover"), selected: token("--selected"), accent: token("--accent"),
    font: token("--font"), tones, softTones, waiting: hatch(context, tones.wait, softTones.wait, ratio), waitingSoft: softTones.wait, ghost: token("--line-strong"),
  };
}

/** Diagonal lines: a wait is no area that something fills. */
function hatch(context: CanvasRenderingContext2D, color: string, back: string, ratio: number): CanvasPattern | string {
  const size = 6 * ratio;
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const draw = tile.getContext("2d");
  if (!draw) return color;
  draw.fillStyle = back;
  draw.fillRect(0, 0, size, size);
  draw.strokeStyle = color;
  draw.lineWidth = 1.7 * ratio;
  for (const shift of [-size, 0, size]) {
    draw.beginPath();
    draw.moveTo(shift - 1, size + 1);
    draw.lineTo(shift + size + 1, -1);
    draw.stroke();
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern ?? color;
}
