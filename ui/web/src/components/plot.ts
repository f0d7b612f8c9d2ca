/** Draws with uPlot. Loaded when the first chart is shown. */
import uPlot from "uplot";
import type { ChartProps } from "./chart.tsx";

interface Tools { token: (name: string) => string; clock: (seconds: number) => string; shortClock: (seconds: number) => string; pointed: (index: number | null) => void }

function faded(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? `${color}2b` : color;
}

function spline(series: ChartProps["series"][number], bars: boolean | undefined): uPlot.Series.PathBuilder | undefined {
  if (bars) return uPlot.paths.bars?.({ size: [0.7, 14, 2] });
  return series.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
}

export function draw(host: HTMLElement, props: ChartProps, latest: () => ChartProps, height: number, { token, clock, shortClock, pointed }: Tools): uPlot {
  const axis: uPlot.Axis = { stroke: token("--text-soft"), font: "11px system-ui, sans-serif", grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
  const series = props.series.map((each): uPlot.Series => {
    const color = token(each.token);
    const paths = spline(each, props.bars);
    return {
      label: each.label, stroke: color, width: 1.5, points: { show: each.points ?? false, size: 5, fill: color },
      ...(each.fill || props.bars ? { fill: props.bars ? color : faded(color) } : {}),
      ...(each.dash ? { dash: each.dash } : {}), ...(paths ? { paths } : {}),
      value: (_: uPlot, value: number | null) => (value === null ? "–" : props.format?.(value) ?? String(value)),
    };
  });
  const plot = new uPlot({
    width: Math.max(50, host.clientWidth), height, pxAlign: 1, legend: { show: false }, cursor: { y: false, points: { size: 6 } },
    hooks: { setCursor: [(self) => pointed(self.cursor.left !== undefined && self.cursor.left >= 0 ? (self.cursor.idx ?? null) : null)] },
    padding: [8, 10, 0, 0],
    scales: { x: { time: true, range: (_, min, max) => { const window = latest().window; return window ? [window.from, window.to] : [min, max]; } }, y: { range: (_, _min, max) => [0, Math.max(1, (max ?? 0) * 1.12)] } },
    axes: [
      { ...axis, size: 24, space: 70, values: (_: uPlot, splits: number[]) => splits.map((each) => shortClock(each)) },
      { ...axis, size: props.axisWidth ?? 42, space: 26, values: (_: uPlot, splits: number[]) => splits.map((each) => props.format?.(each) ?? String(each)) },
    ],
    series: [{ label: "", value: (_: uPlot, value: number | null) => (value === null ? "" : clock(value)) }, ...series],
  }, [props.times, ...props.series.map((each) => each.values)], host);
  if (props.onClick) plot.over.addEventListener("click", () => plot.cursor.idx !== null && plot.cursor.idx !== undefined && props.onClick?.(plot.cursor.idx));
  return plot;
}
