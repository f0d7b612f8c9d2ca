/** Draws the intervals of one row: pods solid, waits hatched, queueing thin, attempts and launches apart. */
import type { Interval } from "../../contract.ts";
import { density, type Density } from "./density.ts";
import { ROW, type Scene, type View } from "./painter.ts";
import type { TimelineRow } from "./rows.ts";

const BAR = 13;
const GHOST = 3;

interface Box { x: number; width: number; y: number; middle: number }

export function drawIntervals(context: CanvasRenderingContext2D, scene: Scene, view: View, row: Extract<TimelineRow, { kind: "instance" }>, y: number): void {
  const intervals = scene.instances.intervals(row.index);
  const ghosts = scene.overlay?.get(row.key);
  if (ghosts) drawGhosts(context, scene, view, ghosts, y);
  const top = y + (ROW - BAR) / 2 - (scene.overlay ? 2 : 0);
  const failed = scene.instances.tone(row.index) === "bad";
  intervals.forEach((interval, index) => {
    const [start, end] = [interval[1], interval[2] ?? scene.now];
    if (end < scene.window.from || start > scene.window.to) return;
    const x = Math.max(view.x(start), view.left - 20);
    const width = Math.max(1.5, Math.min(view.x(end), scene.width + 20) - x);
    drawInterval(context, scene, interval, { x, width, y: top, middle: top + BAR / 2 }, failed && index === intervals.length - 1);
    const before = intervals[index - 1];
    if (before && (before[4] !== interval[4] || before[6] !== interval[6])) drawDivision(context, scene, interval, x, y, before[4] !== interval[4]);
  });
  drawEnd(context, scene, view, row.index, intervals, top);
}

function drawInterval(context: CanvasRenderingContext2D, scene: Scene, interval: Interval, box: Box, failed: boolean): void {
  const { palette } = scene;
  switch (interval[0]) {
    case "running":
      context.fillStyle = failed ? palette.tones.bad : palette.tones.run;
      rounded(context, box.x, box.y, box.width, BAR);
      break;
    case "waiting":
      context.fillStyle = palette.waiting;
      rounded(context, box.x, box.y, box.width, BAR);
      if (box.width > 3) outlined(context, palette.tones.wait, box);
      break;
    case "starting":
      context.fillStyle = palette.softTones.run;
      context.fillRect(box.x, box.y + 2, box.width, BAR - 4);
      context.strokeStyle = palette.tones.run;
      context.lineWidth = 1;
      context.strokeRect(box.x + 0.5, box.y + 2.5, Math.max(0.5, box.width - 1), BAR - 5);
      break;
    case "queued":
      line(context, palette.tones.queue, box, 2, []);
      break;
    case "backing off":
      line(context, palette.tones.warn, box, 2, [2, 3]);
      break;
    default:
      line(context, palette.tones.idle, box, 1, [4, 4]);
  }
}

function rounded(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
  if (width < 5) return context.fillRect(x, y, width, height);
  context.beginPath();
  context.roundRect(x, y, width, height, 2.5);
  context.fill();
}

function outlined(context: CanvasRenderingContext2D, color: string, box: Box): void {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(box.x + 0.5, box.y + 0.5, box.width - 1, BAR - 1, 2.5);
  context.stroke();
}

function line(context: CanvasRenderingContext2D, color: string, box: Box, width: number, dash: number[]): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(box.x, box.middle);
  context.lineTo(box.x + box.width, box.middle);
  context.stroke();
  context.setLineDash([]);
}

/** A new attempt begins with a line and its number, a new launch of the same attempt with a short line. */
function drawDivision(context: CanvasRenderingContext2D, scene: Scene, interval: Interval, x: number, y: number, attempt: boolean): void {
  context.strokeStyle = attempt ? scene.palette.tones.warn : scene.palette.soft;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y + (attempt ? 2 : 6));
  context.lineTo(x, y + ROW - (attempt ? 2 : 6));
  context.stroke();
  if (!attempt) return;
  context.font = `600 9px ${scene.palette.font}`;
  context.fillStyle = scene.palette.tones.warn;
  context.fillText(String(interval[4]), x + 2.5, y + 5.5);
}

/** How the instance ended: a line in the colour of its tone, with a cross for a failure. */
function drawEnd(context: CanvasRenderingContext2D, scene: Scene, view: View, index: number, intervals: Interval[], top: number): void {
  const end = intervals.at(-1)?.[2] ?? null;
  if (end === null || end < scene.window.from || end > scene.window.to) return;
  const tone = scene.instances.tone(index);
  const x = view.x(end);
  context.fillStyle = scene.palette.tones[tone];
  context.fillRect(x - 1, top - 1, 2.5, BAR + 2);
  if (tone !== "bad") return;
  context.strokeStyle = scene.palette.tones.bad;
  context.lineWidth = 1.8;
  context.beginPath();
  context.moveTo(x + 5, top + 2.5);
  context.lineTo(x + 12, top + BAR - 2.5);
  context.moveTo(x + 12, top + 2.5);
  context.lineTo(x + 5, top + BAR - 2.5);
  context.stroke();
}

function drawGhosts(context: CanvasRenderingContext2D, scene: Scene, view: View, intervals: Interval[], y: number): void {
  const top = y + ROW - GHOST - 2;
  for (const [phase, start, end] of intervals) {
    if (phase !== "running" && phase !== "waiting" && phase !== "starting") continue;
    const x = view.x(start + scene.shift);
    const width = Math.max(1, view.x((end ?? scene.now - scene.shift) + scene.shift) - x);
    context.fillStyle = scene.palette.ghost;
    if (phase === "waiting") {
      for (let dash = x; dash < x + width && dash < scene.width; dash += 5) context.fillRect(dash, top, Math.min(2.5, x + width - dash), GHOST);
    } else context.fillRect(x, top, width, GHOST);
  }
}

const densities = new WeakMap<object, { signature: string; value: Density }>();

/** A folded group: how many of its instances hold a pod (solid), wait (hatched) and queue (grey), over time. */
export function drawGroup(context: CanvasRenderingContext2D, scene: Scene, view: View, row: Extract<TimelineRow, { kind: "group" }>, y: number): void {
  const bins = Math.max(10, Math.floor((view.right - view.left) / 2));
  const value = densityOf(scene, row, bins);
  if (value.most <= 0) return;
  const [bottom, height] = [y + ROW - 2, ROW - 4];
  const width = (view.right - view.left) / bins;
  for (const [values, below, style] of [[value.pods, [], scene.palette.tones.run], [value.waits, [value.pods], scene.palette.waiting], [value.queued, [value.pods, value.waits], scene.palette.tones.queue]] as const) {
    context.fillStyle = style;
    context.beginPath();
    for (let bin = 0; bin < bins; bin += 1) {
      const amount = values[bin] ?? 0;
      if (amount <= 0) continue;
      const under = below.reduce((sum, each) => sum + (each[bin] ?? 0), 0);
      const tall = Math.max(1, (height * amount) / value.most);
      context.rect(view.left + bin * width, bottom - (height * under) / value.most - tall, width + 0.3, tall);
    }
    context.fill();
  }
}

function densityOf(scene: Scene, row: Extract<TimelineRow, { kind: "group" }>, bins: number): Density {
  const signature = `${scene.version} ${scene.window.from} ${scene.window.to} ${bins} ${scene.open ? Math.floor(scene.now) : 0}`;
  const known = densities.get(row.members);
  if (known?.signature === signature) return known.value;
  const value = density(row.members.map((index) => scene.instances.intervals(index)), scene.window, bins, scene.now);
  densities.set(row.members, { signature, value });
  return value;
}
