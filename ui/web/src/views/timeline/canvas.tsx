/** The canvas of the timeline in its scroller: draws on each change, and takes pointer and keys. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Interval } from "../../contract.ts";
import { dark } from "../../core/theme.ts";
import type { Instances } from "../../core/instances.ts";
import { nextRow } from "../../core/windowing.ts";
import { l } from "../../texts/timeline.en.ts";
import { readPalette, type Palette } from "./palette.ts";
import { AXIS, paint, ROW, viewOf, type Scene } from "./painter.ts";
import { startGestures } from "./gestures.ts";
import type { TimelineRow } from "./rows.ts";
import { pan, zoom, type TimeWindow } from "./time_window.ts";

export interface Hit { row: TimelineRow; interval: Interval | null; at: number; x: number; y: number }
export interface CanvasProps {
  rows: TimelineRow[]; instances: Instances; version: number; window: TimeWindow; limits: TimeWindow; now: number; open: boolean; labels: number;
  critical: ReadonlySet<string>; showCritical: boolean; overlay: ReadonlyMap<string, Interval[]> | null; shift: number; selected: string; describe: (row: TimelineRow) => string;
  onWindow: (window: TimeWindow | null) => void; onHover: (hit: Hit | null) => void; onOpen: (row: TimelineRow) => void; onFold: (row: TimelineRow) => void;
}

export function TimelineCanvas(props: CanvasProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const revealed = useRef("");
  const [active, setActive] = useState(0);
  const [focused, setFocused] = useState(false);
  const [height, setHeight] = useState(400);
  const drawing = useRef({ frame: 0, hovered: -1, active: 0, focused: false, palette: null as Palette | null, chosen: null as { from: number; to: number } | null });
  drawing.current.active = Math.min(active, Math.max(0, props.rows.length - 1));
  drawing.current.focused = focused;

  const sceneNow = (): Scene | null => {
    const element = scroller.current;
    if (!element || !drawing.current.palette) return null;
    const { rows, instances, version, window, now, open, labels, critical, showCritical, overlay, shift, selected } = latest.current;
    const { hovered, active: at, focused: focus, palette, chosen } = drawing.current;
    return { width: element.clientWidth, height: element.clientHeight, top: element.scrollTop, rows, instances, version, window, now, open, labels, critical, showCritical, overlay, shift, selected, hovered, active: at, focused: focus, palette, chosen };
  };
  const draw = () => {
    cancelAnimationFrame(drawing.current.frame);
    drawing.current.frame = requestAnimationFrame(() => {
      const element = canvas.current;
      const context = element?.getContext("2d", { alpha: false });
      if (!element || !context) return;
      const ratio = devicePixelRatio || 1;
      drawing.current.palette ??= readPalette(context, ratio);
      const scene = sceneNow();
      if (!scene) return;
      const [width, tall] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
      if (element.width !== width || element.height !== tall) Object.assign(element, { width, height: tall });
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(context, scene);
    });
  };

  useLayoutEffect(() => {
    drawing.current.palette = null;
    draw();
  }, [dark.value]);
  useLayoutEffect(draw);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
      draw();
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(drawing.current.frame);
    };
  }, []);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    return startGestures(element, {
      view: () => viewOf({ width: element.clientWidth, labels: latest.current.labels, window: latest.current.window }),
      window: () => latest.current.window, limits: () => latest.current.limits, change: (window) => latest.current.onWindow(window),
      move: (x, y) => hover(x, y), leave: () => hover(-1, -1),
      choose: (from, to) => {
        drawing.current.chosen = to === null ? null : { from, to };
        draw();
      },
      press: (_, y) => {
        const index = rowAt(y);
        const row = latest.current.rows[index];
        if (!row) return;
        setActive(index);
        if (row.kind === "group") latest.current.onFold(row);
        else latest.current.onOpen(row);
      },
    });
  }, []);

  const rowAt = (y: number): number => (y < AXIS ? -1 : Math.floor((y - AXIS + (scroller.current?.scrollTop ?? 0)) / ROW));
  const hover = (x: number, y: number) => {
    const scene = sceneNow();
    const index = rowAt(y);
    const row = x < 0 ? undefined : latest.current.rows[index];
    if (index !== drawing.current.hovered || !row) {
      drawing.current.hovered = row ? index : -1;
      draw();
    }
    if (!scene || !row) return latest.current.onHover(null);
    const view = viewOf(scene);
    const at = scene.window.from + ((x - view.left) / (view.right - view.left)) * (scene.window.to - scene.window.from);
    const slack = (3 * (scene.window.to - scene.window.from)) / (view.right - view.left);
    const intervals = row.kind === "instance" ? scene.instances.intervals(row.index) : [];
    const interval = x < view.left ? null : (intervals.find((each) => each[1] <= at && (each[2] ?? scene.now) >= at) ?? intervals.find((each) => each[1] - slack <= at && (each[2] ?? scene.now) + slack >= at) ?? null);
    latest.current.onHover({ row, interval, at, x, y });
  };

  const key = (event: KeyboardEvent) => {
    const { rows, window, limits, onWindow } = latest.current;
    const row = rows[drawing.current.active];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const length = window.to - window.from;
    const middle = (window.from + window.to) / 2;
    const next = nextRow(event.key, drawing.current.active, rows.length, Math.max(1, Math.floor(height / ROW) - 3));
    if (next !== null) {
      setActive(next);
      reveal(next);
    } else if (event.key === "ArrowLeft") onWindow(pan(window, -length / 8, limits));
    else if (event.key === "ArrowRight") onWindow(pan(window, length / 8, limits));
    else if (event.key === "+" || event.key === "=") onWindow(zoom(window, 0.6, middle, limits));
    else if (event.key === "-") onWindow(zoom(window, 1 / 0.6, middle, limits));
    else if (event.key === "0") onWindow(null);
    else if (event.key === "Enter" && row) row.kind === "group" ? latest.current.onFold(row) : latest.current.onOpen(row);
    else if (event.key === " " && row?.kind === "group") latest.current.onFold(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const reveal = (index: number) => {
    const element = scroller.current;
    if (!element) return;
    const top = index * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW + AXIS > element.scrollTop + element.clientHeight) element.scrollTop = top + ROW + AXIS - element.clientHeight;
  };
  useEffect(() => {
    const index = props.selected === "" ? -1 : props.rows.findIndex((each) => each.key === props.selected);
    if (index === -1 || revealed.current === props.selected) return;
    revealed.current = props.selected;
    setActive(index);
    reveal(index);
  }, [props.selected, props.rows]);
  const row = props.rows[drawing.current.active];
  const spare = Math.max(0, props.rows.length * ROW + AXIS + 4 - height);
  return (
    <div ref={scroller} class="timeline-scroll" tabIndex={0} role="application" aria-roledescription={l.roleDescription} aria-label={l.label} aria-describedby="timeline-help"
      onScroll={draw} onKeyDown={key} onFocus={(event) => setFocused(event.currentTarget.matches(":focus-visible"))} onBlur={() => setFocused(false)}>
      <canvas ref={canvas} class="timeline-canvas" aria-hidden="true" />
      <div style={{ height: `${spare}px` }} />
      <p id="timeline-help" class="sr">{l.help}</p>
      <p class="sr" aria-live="polite">{focused && row ? props.describe(row) : ""}</p>
    </div>
  );
}
