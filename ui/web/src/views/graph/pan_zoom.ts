/** Moves and scales a drawing by pointer, wheel and keys. It starts with all of the drawing in sight. */
import type { RefObject } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Rect } from "./layout.ts";

export interface Camera { x: number; y: number; scale: number }

export interface PanZoom {
  camera: Camera;
  element: RefObject<HTMLDivElement | null>;
  fit: () => void;
  zoom: (factor: number) => void;
  /** Moves as little as needed to have the box in sight. */
  reveal: (rect: Rect) => void;
}

const LEAST = 0.08;
const MOST = 2;
const READABLE = 0.7;
const MARGIN = 24;

/** The camera that shows a whole drawing, never larger than life. A long graph starts at its left end, readable. Pure. */
export function fitted(width: number, height: number, drawingWidth: number, drawingHeight: number, least = LEAST): Camera {
  const scale = Math.max(least, Math.min(1, (width - 2 * MARGIN) / drawingWidth, (height - 2 * MARGIN) / drawingHeight));
  const fits = drawingWidth * scale <= width;
  return { scale, x: fits ? (width - drawingWidth * scale) / 2 : MARGIN, y: (height - drawingHeight * scale) / 2 };
}

/** The camera at the start: all of the drawing if it can be read so, else its left end, or where `first` is. Pure. */
export function started(width: number, height: number, drawingWidth: number, drawingHeight: number, first: Rect | undefined): Camera {
  const camera = fitted(width, height, drawingWidth, drawingHeight, READABLE);
  if (camera.scale > READABLE || first === undefined) return camera;
  const y = drawingHeight * camera.scale > height ? height / 2 - (first.y + first.height / 2) * camera.scale : camera.y;
  const x = drawingWidth * camera.scale > width ? Math.min(MARGIN, width / 2 - (first.x + first.width / 2) * camera.scale) : camera.x;
  return { ...camera, x, y };
}

/** The camera after a change of scale that keeps a point where it is. Pure. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const scale = Math.max(LEAST, Math.min(MOST, camera.scale * factor));
  const change = scale / camera.scale;
  return { scale, x: x - (x - camera.x) * change, y: y - (y - camera.y) * change };
}

/** `first`: the box that has to be in sight at the start of a graph that is too large to be read as a whole. */
export function usePanZoom(width: number, height: number, first: Rect | undefined): PanZoom {
  const element = useRef<HTMLDivElement>(null);
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, scale: 1 });
  const fit = useCallback(() => {
    const box = element.current;
    if (box) setCamera(fitted(box.clientWidth, box.clientHeight, width, height));
  }, [width, height]);
  const zoom = useCallback((factor: number) => {
    const box = element.current;
    if (box) setCamera((now) => zoomed(now, factor, box.clientWidth / 2, box.clientHeight / 2));
  }, []);
  const reveal = useCallback((rect: Rect) => {
    const box = element.current;
    if (box) setCamera((now) => moved(now, rect, box.clientWidth, box.clientHeight));
  }, []);
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return undefined;
    setCamera(started(box.clientWidth, box.clientHeight, width, height, first));
    return listen(box, setCamera);
  }, [width, height]);
  return useMemo(() => ({ camera, element, fit, zoom, reveal }), [camera, fit, zoom, reveal]);
}

function moved(camera: Camera, rect: Rect, width: number, height: number): Camera {
  const left = rect.x * camera.scale + camera.x;
  const top = rect.y * camera.scale + camera.y;
  const right = left + rect.width * camera.scale;
  const bottom = top + rect.height * camera.scale;
  const dx = left < MARGIN ? MARGIN - left : right > width - MARGIN ? width - MARGIN - right : 0;
  const dy = top < MARGIN ? MARGIN - top : bottom > height - MARGIN ? height - MARGIN - bottom : 0;
  return dx === 0 && dy === 0 ? camera : { ...camera, x: camera.x + dx, y: camera.y + dy };
}

function listen(box: HTMLDivElement, setCamera: (change: (camera: Camera) => Camera) => void): () => void {
  let from: { x: number; y: number } | null = null;
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const bounds = box.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
      setCamera((now) => zoomed(now, Math.exp(-event.deltaY / 500), event.clientX - bounds.left, event.clientY - bounds.top));
    } else setCamera((now) => ({ ...now, x: now.x - event.deltaX - (event.shiftKey ? event.deltaY : 0) }));
  };
  const down = (event: PointerEvent) => {
    if (event.button === 0) from = { x: event.clientX, y: event.clientY };
  };
  const move = (event: PointerEvent) => {
    if (from === null) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    // Captured only once it is a drag: a captured pointer would take the click away from the boxes.
    if (!box.hasPointerCapture(event.pointerId)) {
      if (Math.hypot(dx, dy) < 4) return;
      box.setPointerCapture(event.pointerId);
    }
    from = { x: event.clientX, y: event.clientY };
    setCamera((now) => ({ ...now, x: now.x + dx, y: now.y + dy }));
  };
  const up = () => (from = null);
  box.addEventListener("wheel", wheel, { passive: false });
  box.addEventListener("pointerdown", down);
  box.addEventListener("pointermove", move);
  box.addEventListener("pointerup", up);
  box.addEventListener("pointercancel", up);
  return () => {
    box.removeEventListener("wheel", wheel);
    box.removeEventListener("pointerdown", down);
    box.removeEventListener("pointermove", move);
    box.removeEventListener("pointerup", up);
    box.removeEventListener("pointercancel", up);
  };
}
