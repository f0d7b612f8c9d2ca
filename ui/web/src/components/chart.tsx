/** A line chart (uPlot, loaded late) in the colours of the theme, with its last values as text for screen readers. */
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { dark, token } from "../core/theme.ts";
import { clock, moment, shortClock } from "../core/times.ts";
import { now } from "../core/clock.ts";

export interface Series { label: string; token: string; values: (number | null)[]; fill?: boolean; dash?: number[]; stepped?: boolean; points?: boolean }
export interface ChartProps { label: string; times: number[]; series: Series[]; height?: number; format?: (value: number) => string; bars?: boolean; window?: { from: number; to: number } | undefined; onClick?: (index: number) => void; axisWidth?: number }

const load = () => import("./plot.ts");

export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const isDark = dark.value;
  const height = props.height ?? 140;
  useEffect(() => {
    let alive = true;
    let observer: ResizeObserver | null = null;
    void load().then(({ draw }) => {
      const element = host.current;
      if (!alive || !element) return;
      plot.current = draw(element, props, () => latest.current, height, { token, clock, shortClock, pointed: setCursor });
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
  const at = cursor !== null && cursor < props.times.length ? cursor : props.times.length - 1;
  const value = (series: Series): string => (series.values[at] === null || series.values[at] === undefined ? "–" : (props.format?.(series.values[at]) ?? series.values[at].toLocaleString("en-GB")));
  return (
    <div class="chart">
      <div class="chart-legend tiny">
        {props.series.map((series) => <span key={series.label} class="row"><ChartKey series={series} />{series.label} <span class="strong">{value(series)}</span></span>)}
        {cursor === null ? null : <span class="soft">{moment(props.times[at] ?? 0, now.peek())}</span>}
      </div>
      <div ref={host} role="img" aria-label={`${props.label}. ${props.series.map((series) => `${series.label}: ${value(series)}`).join(", ")}`} style={{ minHeight: `${height}px` }} />
    </div>
  );
}

function ChartKey({ series }: { series: Series }) {
  return <svg width="14" height="8" aria-hidden="true"><line x1="0" y1="4" x2="14" y2="4" stroke={`var(${series.token})`} stroke-width="2.5" {...(series.dash ? { "stroke-dasharray": series.dash.join(" ") } : {})} /></svg>;
}
