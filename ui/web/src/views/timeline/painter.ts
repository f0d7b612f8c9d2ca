/** Draws the timeline on a canvas: the rows in sight, the axis, the critical path, and the run that is laid over. */
import type { Interval } from "../../contract.ts";
import { plain } from "../../core/characters.ts";
import type { Instances } from "../../core/instances.ts";
import { day, clock, shortClock } from "../../core/times.ts";
import { drawGroup, drawIntervals } from "./bars.ts";
import type { Palette } from "./palette.ts";
import type { TimelineRow } from "./rows.ts";
import { step, ticks, type TimeWindow } from "./time_window.ts";

export const ROW = 24;
export const AXIS = 28;

export interface Scene {
  width: number; height: number; top: number; labels: number; window: TimeWindow; now: number; open: boolean; version: number;
  rows: TimelineRow[]; instances: Instances; palette: Palette; critical: ReadonlySet<string>; showCritical: boolean;
  overlay: ReadonlyMap<string, Interval[]> | null; shift: number; hovered: number; active: number; focused: boolean; selected: string; chosen: { from: number; to: number } | null;
}

export interface View { x: (seconds: number) => number; left: number; right: number }

export function viewOf(scene: Pick<Scene, "width" | "labels" | "window">): View {
  const left = scene.labels;
  const right = scene.width - 10;
  const scale = (right - left) / (scene.window.to - scene.window.from || 1);
  return { left, right, x: (seconds) => left + (seconds - scene.window.from) * scale };
}

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  const view = viewOf(scene);
  context.clearRect(0, 0, scene.width, scene.height);
  context.fillStyle = scene.palette.surface;
  context.fillRect(0, 0, scene.width, scene.height);
  const first = Math.max(0, Math.floor(scene.top / ROW));
  const last = Math.min(scene.rows.length, Math.ceil((scene.top + scene.height) / ROW) + 1);
  const places = ticks(scene.window, (view.right - view.left) / 95, zoneOffset(scene.window.from));
  drawGrid(context, scene, view, places);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, scene.width, scene.height - AXIS);
  context.clip();
  for (let index = first; index < last; index += 1) drawRow(context, scene, view, index);
  if (scene.showCritical) drawCritical(context, scene, view, first, last);
  context.restore();
  drawAxis(context, scene, view, places);
  drawNow(context, scene, view);
  if (scene.chosen) drawChosen(context, scene, scene.chosen);
}

/** The part of the time that a drag on the axis chooses. */
function drawChosen(context: CanvasRenderingContext2D, scene: Scene, chosen: { from: number; to: number }): void {
  const [x, width] = [Math.max(scene.labels, Math.min(chosen.from, chosen.to)), Math.abs(chosen.to - chosen.from)];
  context.globalAlpha = 0.16;
  context.fillStyle = scene.palette.accent;
  context.fillRect(x, 0, width, scene.height);
  context.globalAlpha = 1;
}

export function rowTop(scene: Pick<Scene, "top">, index: number): number {
  return AXIS + index * ROW - scene.top;
}

function zoneOffset(seconds: number): number {
  return -new Date(seconds * 1000).getTimezoneOffset() * 60;
}

function drawGrid(context: CanvasRenderingContext2D, scene: Scene, view: View, places: number[]): void {
  context.strokeStyle = scene.palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const each of places) {
    const x = Math.round(view.x(each)) + 0.5;
    context.moveTo(x, AXIS - 5);
    context.lineTo(x, scene.height);
  }
  context.stroke();
}

function drawAxis(context: CanvasRenderingContext2D, scene: Scene, view: View, places: number[]): void {
  const { palette } = scene;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, scene.width, AXIS - 6);
  context.strokeStyle = palette.line;
  context.beginPath();
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(scene.width, AXIS - 0.5);
  context.stroke();
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.soft;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const distance = step(scene.window, (view.right - view.left) / 95);
  let previous = "";
  for (const each of places) {
    const x = view.x(each);
    if (x < view.left + 20 || x > view.right - 20) continue;
    const date = new Date(each * 1000).toDateString();
    const text = distance >= 86400 || (previous !== "" && date !== previous) ? day(each) : distance < 60 ? clock(each) : shortClock(each);
    previous = date;
    context.fillText(text, x, AXIS / 2 - 2);
  }
  context.textAlign = "start";
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, view: View, index: number): void {
  const row = scene.rows[index] as TimelineRow;
  const y = rowTop(scene, index);
  const { palette } = scene;
  const marked = index === scene.hovered || (scene.focused && index === scene.active);
  if (row.key === scene.selected || marked) {
    context.globalAlpha = row.key === scene.selected ? 1 : 0.75;
    context.fillStyle = row.key === scene.selected ? palette.selected : palette.hover;
    context.fillRect(0, y, scene.width, ROW);
    context.globalAlpha = 1;
  }
  if (scene.focused && index === scene.active) {
    context.fillStyle = palette.accent;
    context.fillRect(0, y, 3, ROW);
  }
  const dimmed = scene.showCritical && row.kind === "instance" && !scene.critical.has(row.key);
  context.globalAlpha = dimmed ? 0.28 : 1;
  drawLabel(context, scene, row, y);
  context.save();
  context.beginPath();
  context.rect(view.left, y, scene.width - view.left, ROW);
  context.clip();
  if (row.kind === "group") drawGroup(context, scene, view, row, y);
  else drawIntervals(context, scene, view, row, y);
  context.restore();
  context.globalAlpha = 1;
}

function drawLabel(context: CanvasRenderingContext2D, scene: Scene, row: TimelineRow, y: number): void {
  const { palette } = scene;
  const middle = y + ROW / 2;
  context.textBaseline = "middle";
  if (row.kind === "group") {
    drawFold(context, palette, row.unfolded, 14, middle);
    context.font = `600 12px ${palette.font}`;
    const counted = row.members.length.toLocaleString("en-GB");
    context.fillStyle = palette.soft;
    context.textAlign = "end";
    context.font = `11px ${palette.font}`;
    context.fillText(counted, scene.labels - 12, middle);
    const room = scene.labels - 40 - context.measureText(counted).width - 10;
    context.textAlign = "start";
    context.font = `600 12px ${palette.font}`;
    context.fillStyle = palette.text;
    context.fillText(fitted(context, row.label, room), 24, middle);
    return;
  }
  const x = row.inside ? 24 : 8;
  drawToneDot(context, scene, row.index, x + 5, middle);
  context.font = `${scene.critical.has(row.key) && scene.showCritical ? "600 " : ""}12px ${palette.font}`;
  context.fillStyle = palette.text;
  context.fillText(fitted(context, row.label, scene.labels - x - 26), x + 16, middle);
}

function drawFold(context: CanvasRenderingContext2D, palette: Palette, unfolded: boolean, x: number, y: number): void {
  context.strokeStyle = palette.soft;
  context.lineWidth = 1.5;
  context.beginPath();
  if (unfolded) { context.moveTo(x - 4, y - 2); context.lineTo(x, y + 2); context.lineTo(x + 4, y - 2); }
  else { context.moveTo(x - 2, y - 4); context.lineTo(x + 2, y); context.lineTo(x - 2, y + 4); }
  context.stroke();
}

/** The state of an instance as a mark with the form of its tone: filled, hatched, crossed, hollow. */
function drawToneDot(context: CanvasRenderingContext2D, scene: Scene, index: number, x: number, y: number): void {
  const tone = scene.instances.tone(index);
  const color = scene.palette.tones[tone] ?? scene.palette.soft;
  context.strokeStyle = color;
  context.fillStyle = tone === "wait" ? scene.palette.waiting : color;
  context.lineWidth = 1.6;
  context.beginPath();
  if (tone === "ok") { context.moveTo(x - 4, y); context.lineTo(x - 1, y + 3); context.lineTo(x + 4, y - 3.5); context.stroke(); }
  else if (tone === "bad") { context.moveTo(x - 3.5, y - 3.5); context.lineTo(x + 3.5, y + 3.5); context.moveTo(x + 3.5, y - 3.5); context.lineTo(x - 3.5, y + 3.5); context.stroke(); }
  else if (tone === "warn") { context.moveTo(x, y - 4.5); context.lineTo(x + 4.5, y + 3.5); context.lineTo(x - 4.5, y + 3.5); context.closePath(); context.stroke(); }
  else if (tone === "run") { context.moveTo(x - 3, y - 4.5); context.lineTo(x + 4.5, y); context.lineTo(x - 3, y + 4.5); context.closePath(); context.fill(); }
  else if (tone === "wait") { context.rect(x - 4, y - 4, 8, 8); context.fill(); context.lineWidth = 1; context.stroke(); }
  else { context.arc(x, y, 3.5, 0, 2 * Math.PI); context.stroke(); }
}

const widths = new Map<string, string>();

/** The text, cut to a width. Measuring is slow, so cuts are kept. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const key = `${context.font} ${Math.round(room)} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (widths.size > 20_000) widths.clear();
  let shown = plain(text.slice(0, 200));
  if (context.measureText(shown).width > room) {
    let [low, high] = [0, shown.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (context.measureText(`${shown.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    shown = `${shown.slice(0, low)}…`;
  }
  widths.set(key, shown);
  return shown;
}

/** A line from the end of each critical instance to the start of the next, where both are rows. */
function drawCritical(context: CanvasRenderingContext2D, scene: Scene, view: View, first: number, last: number): void {
  const places = new Map(scene.rows.map((row, index) => [row.key, index]));
  context.strokeStyle = scene.palette.accent;
  context.lineWidth = 1.5;
  let before: { x: number; y: number; index: number } | null = null;
  for (const key of scene.critical) {
    const index = places.get(key);
    const row = index === undefined ? undefined : scene.rows[index];
    if (index === undefined || row?.kind !== "instance") continue;
    const intervals = scene.instances.intervals(row.index);
    const [start, end] = [intervals[0]?.[1], intervals.at(-1)];
    if (start === undefined || end === undefined) continue;
    const y = rowTop(scene, index) + ROW / 2;
    const [x1, x2] = [view.x(start), view.x(end[2] ?? scene.now)];
    const seen = before !== null && Math.max(index, before.index) >= first && Math.min(index, before.index) < last;
    if (before !== null && seen) {
      context.beginPath();
      context.moveTo(Math.max(view.left, before.x), before.y);
      const turn = Math.max(view.left, Math.min(before.x, x1) - 5);
      context.lineTo(turn, before.y);
      context.lineTo(turn, y);
      context.lineTo(Math.max(view.left, x1), y);
      context.stroke();
    }
    before = { x: x2, y, index };
  }
}

function drawNow(context: CanvasRenderingContext2D, scene: Scene, view: View): void {
  const x = view.x(scene.now);
  context.strokeStyle = scene.palette.line;
  context.beginPath();
  context.moveTo(view.left - 0.5, 0);
  context.lineTo(view.left - 0.5, scene.height);
  context.stroke();
  if (!scene.open || x < view.left || x > view.right + 8) return;
  context.strokeStyle = scene.palette.accent;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x, AXIS);
  context.lineTo(x, scene.height);
  context.stroke();
  context.setLineDash([]);
}
