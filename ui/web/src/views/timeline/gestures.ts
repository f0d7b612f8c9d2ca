/** Pointer and wheel on the timeline: drag to move in time, drag on the axis to choose a time, pinch or Ctrl-wheel to zoom. */
import { AXIS, type View } from "./painter.ts";
import { clamp, pan, zoom, type TimeWindow } from "./time_window.ts";

export interface GestureTarget {
  view: () => View;
  window: () => TimeWindow;
  limits: () => TimeWindow;
  change: (window: TimeWindow) => void;
  move: (x: number, y: number) => void;
  leave: () => void;
  /** The part of the axis that is being chosen, in pixels; null at the end. */
  choose: (from: number, to: number | null) => void;
  press: (x: number, y: number) => void;
}

const CLICK_SLACK = 4;

export function startGestures(element: HTMLElement, target: GestureTarget): () => void {
  const pointers = new Map<number, { x: number; y: number }>();
  let begin: { x: number; y: number; window: TimeWindow; onAxis: boolean; moved: boolean } | null = null;
  let pinch = 0;

  const place = (event: PointerEvent | WheelEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const seconds = (x: number, window: TimeWindow): number => {
    const view = target.view();
    return window.from + ((x - view.left) / (view.right - view.left)) * (window.to - window.from);
  };
  const spread = (): number => {
    const [one, other] = [...pointers.values()];
    return one && other ? Math.abs(one.x - other.x) : 0;
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const at = place(event);
    pointers.set(event.pointerId, at);
    begin = { ...at, window: target.window(), onAxis: at.y < AXIS, moved: false };
    pinch = spread();
  };
  const move = (event: PointerEvent) => {
    const at = place(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, at);
    if (!begin) return target.move(at.x, at.y);
    if (pointers.size === 2 && pinch > 0) {
      begin.moved = true;
      target.change(zoom(begin.window, pinch / Math.max(20, spread()), seconds(at.x, begin.window), target.limits()));
      return undefined;
    }
    if (!begin.moved && Math.abs(at.x - begin.x) < CLICK_SLACK) return undefined;
    if (!begin.moved) {
      begin.moved = true;
      element.setPointerCapture(event.pointerId);
      target.leave();
    }
    if (begin.onAxis) return target.choose(begin.x, at.x);
    return target.change(pan(begin.window, seconds(begin.x, begin.window) - seconds(at.x, begin.window), target.limits()));
  };
  const up = (event: PointerEvent) => {
    const at = place(event);
    const started = begin;
    pointers.delete(event.pointerId);
    if (pointers.size > 0 || !started) return;
    begin = null;
    target.choose(0, null);
    if (!started.moved && at.y >= AXIS && Math.abs(at.y - started.y) < CLICK_SLACK) target.press(at.x, at.y);
    else if (started.moved && started.onAxis) {
      const [one, other] = [seconds(started.x, started.window), seconds(at.x, started.window)];
      target.change(clamp({ from: Math.min(one, other), to: Math.max(one, other) }, target.limits()));
    }
  };
  const cancel = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    begin = null;
    target.choose(0, null);
  };
  const wheel = (event: WheelEvent) => {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      target.change(zoom(target.window(), 1.0018 ** event.deltaY, seconds(place(event).x, target.window()), target.limits()));
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      const view = target.view();
      target.change(pan(target.window(), (sideways * (target.window().to - target.window().from)) / (view.right - view.left), target.limits()));
    }
  };
  const leave = () => (begin ? undefined : target.leave());

  const listeners: [string, (event: never) => void, AddEventListenerOptions?][] = [["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointercancel", cancel], ["pointerleave", leave], ["wheel", wheel, { passive: false }]];
  for (const [name, listener, options] of listeners) element.addEventListener(name, listener as EventListener, options);
  return () => {
    for (const [name, listener] of listeners) element.removeEventListener(name, listener as EventListener);
  };
}
