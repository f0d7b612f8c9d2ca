/** A line chart (uPlot, loaded late) in the colours of the theme, with its last values as text for screen readers. */
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { dark, token } from "../core/theme.ts";
import { clock, shortClock } from "../core/times.ts";

export interface Series { label: string; token: string; values: (number | null)[]; fill?: boolean; dash?: number[]; stepped?: boolean; points?: boolean }
export interface ChartProps { label: string; times: number[]; series: Series[]; height?: number; format?: (value: number) => string; bars?: boolean; window?: { from: number; to: number } | undefined; onClick?: (index: number) => void; axisWidth?: number }

const load = () => import("./plot.ts");

export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const isDark = dark.value;
  const height = props.height ?? 140;
  useEffect(() => {
    let alive = true;
    let observer: ResizeObserver | null = null;
    void load().then(({ draw }) => {
      const element = host.current;
      if (!alive || !element) return;
      plot.current = draw(element, props, () => latest.current, height, { token, clock, shortClock });
      observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
      observer.observe(element);
    });
    return () => {
      alive = false;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [isDark, props.series.length, height]);
  useEffect(() => {
    plot.current?.setData([props.times, ...props.series.map((each) => each.values)]);
  }, [props.times, props.series]);
  useEffect(() => {
    if (props.window) plot.current?.setScale("x", { min: props.window.from, max: props.window.to });
  }, [props.window?.from, props.window?.to]);
  const last = props.series.map((each) => `${each.label}: ${props.format?.(each.values.at(-1) ?? 0) ?? each.values.at(-1) ?? 0}`).join(", ");
  return <div ref={host} class="chart" role="img" aria-label={`${props.label}. ${last}`} style={{ minHeight: `${height}px` }} />;
}
