/** The logs of an instance: of its pods and its waits in one stream, followed, searched and filtered. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, ProblemBox, Select, TextInput } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import type { LogLine } from "../../contract.ts";
import { queryOf } from "../../core/api.ts";
import { serverUrl } from "../../core/base.ts";
import { count } from "../../core/numbers.ts";
import { taskApi } from "../../core/run_store.ts";
import { openStream, type Stream } from "../../core/stream.ts";
import { clock, utc } from "../../core/times.ts";
import { windowOf } from "../../core/windowing.ts";
import { t } from "../../texts.en.ts";
import { k } from "../../texts/task.en.ts";
import { LogBuffer, rankOf, type LogFilter } from "./log_buffer.ts";
import { LineText } from "./log_line.tsx";

const HEIGHT = 19;
const SHOWN = 4000;
const SEVERITIES = ["debug", "info", "warning", "error"] as const;

/** The lines of an instance, as they arrive. A new connection begins anew. */
export function useLogs(run: string, instance: string, attempt: string, container = ""): { buffer: LogBuffer; version: number; stream: Stream } {
  const [version, setVersion] = useState(0);
  const made = useMemo(() => {
    const buffer = new LogBuffer();
    let begins = false;
    const stream = openStream({
      path: () => `${taskApi(run, instance)}/logs${queryOf({ attempt, container, follow: 1 })}`,
      opened: () => (begins = true),
      handlers: {
        lines: (lines: LogLine[]) => {
          if (begins) buffer.clear();
          begins = false;
          buffer.add(lines);
          setVersion((before) => before + 1);
        },
      },
    });
    return { buffer, stream };
  }, [run, instance, attempt, container]);
  useEffect(() => () => made.stream.close(), [made]);
  return { ...made, version };
}

export function Logs({ run, instance, attempts, containers }: { run: string; instance: string; attempts: number[]; containers: string[] }) {
  const [attempt, setAttempt] = useState("");
  const [container, setContainer] = useState("");
  const [filter, setFilter] = useState<LogFilter>({ text: "", severity: "", source: "" });
  const [times, setTimes] = useState(true);
  const [follow, setFollow] = useState(true);
  const { buffer, version, stream } = useLogs(run, instance, attempt, container);
  const shown = useMemo(() => buffer.filtered(filter), [buffer, version, filter]);
  const problem = stream.problem.value;
  const all = count(buffer.lines.length);
  const status = stream.status.value;
  return (
    <div class="logs">
      <div class="row fold logs-bar">
        <TextInput wide label={k.logs.search} placeholder={k.logs.search} icon="search" value={filter.text} onInput={(text) => setFilter({ ...filter, text })} />
        <Select label={k.logs.severity} value={filter.severity} onChange={(severity) => setFilter({ ...filter, severity })} options={[{ value: "", label: k.logs.anySeverity }, ...SEVERITIES.map((value) => ({ value, label: k.logs.severities[value] ?? value }))]} />
        <Select label={k.logs.source} value={filter.source} onChange={(source) => setFilter({ ...filter, source })} options={[{ value: "", label: k.logs.anySource }, ...[...buffer.sources].filter((value) => value !== "").map((value) => ({ value, label: value }))]} />
        {attempts.length > 1 ? <Select label={k.logs.attempt} value={attempt} onChange={setAttempt} options={[{ value: "", label: k.logs.allAttempts }, ...attempts.map((each) => ({ value: String(each), label: k.attempt(each) }))]} /> : null}
        {containers.length > 0 ? <Select label={k.logs.container} value={container} onChange={setContainer} options={[{ value: "", label: k.logs.main }, ...containers.map((value) => ({ value, label: value }))]} /> : null}
        <Button icon="follow" label={k.logs.follow} pressed={follow} onClick={() => setFollow(!follow)} />
        <Button iconOnly icon="clock" label={k.logs.times} pressed={times} onClick={() => setTimes(!times)} />
        <a class="button icon-only" href={serverUrl(`${taskApi(run, instance)}/logs.txt${queryOf({ attempt, container })}`)} download="log.txt" title={k.logs.download} aria-label={k.logs.download}><Icon name="download" size={14} /></a>
      </div>
      <div class="row logs-state small soft">
        <span class={`live ${status}`}>{status === "ended" ? k.logs.complete : t.live[status]}</span>
        <span>{shown.length === buffer.lines.length ? k.logs.lines(all) : k.logs.matches(count(shown.length), all)}</span>
        {buffer.dropped > 0 ? <span>{k.logs.dropped(count(buffer.dropped))}</span> : null}
      </div>
      {problem ? <ProblemBox problem={problem} onRetry={stream.retry} /> : null}
      {buffer.lines.length === 0 ? <p class="soft logs-empty">{status === "ended" ? k.noLines : k.noLinesYet}</p> : <LineList lines={shown} version={version} marked={filter.text.toLowerCase()} times={times} follow={follow} onFollow={setFollow} />}
    </div>
  );
}

interface LineListProps { lines: LogLine[]; version: number; marked: string; times: boolean; follow: boolean; onFollow: (follow: boolean) => void }

/** Lines of one height, of which those in sight exist. A click shows the whole line below. */
function LineList({ lines, version, marked, times, follow, onFollow }: LineListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const [whole, setWhole] = useState<LogLine | null>(null);
  const { first, last } = windowOf(top, height, HEIGHT, lines.length, 12);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = scroller.current;
    if (follow && element) element.scrollTop = element.scrollHeight;
  }, [version, lines.length, follow, height]);
  const scrolled = (element: HTMLDivElement) => {
    if (element.scrollTop < top - 4 && follow) onFollow(false);
    setTop(element.scrollTop);
  };
  const visible = [];
  for (let index = first; index < last; index += 1) {
    const line = lines[index] as LogLine;
    visible.push(
      <div key={index} class={`log-line severity-${rankOf(line.severity)}${line.source === "wait" || line.stream === "note" ? " from-wait" : ""}${line === whole ? " current" : ""}`} style={{ top: `${index * HEIGHT}px` }} onClick={() => setWhole(line === whole ? null : line)}>
        {times && line.t !== null ? <time class="log-time" title={utc(line.t)}>{clock(line.t)}</time> : null}
        <span class="log-text"><LineText text={line.text} limit={SHOWN} marked={marked} /></span>
      </div>,
    );
  }
  return (
    <>
      <div ref={scroller} class="log-lines" tabIndex={0} role="log" aria-label={k.logs.label} onScroll={(event) => scrolled(event.currentTarget)}>
        <div class="log-space" style={{ height: `${lines.length * HEIGHT}px` }}>{visible}</div>
      </div>
      {whole ? (
        <div class="log-whole" role="region" aria-label={k.logs.whole}>
          <div class="row small soft"><span class="grow clip"><Data text={whole.source} limit={260} /> · {whole.severity} · {whole.t === null ? "" : utc(whole.t)}</span><Button kind="quiet" iconOnly icon="close" label={t.close} onClick={() => setWhole(null)} /></div>
          <pre class="wrap"><LineText text={whole.text} limit={200_000} marked={marked} /></pre>
        </div>
      ) : null}
    </>
  );
}

/** The last lines, as the overview shows them. */
export function LastLines({ run, instance, lines = 12 }: { run: string; instance: string; lines?: number }) {
  const { buffer, version, stream } = useLogs(run, instance, "");
  const shown = useMemo(() => buffer.lines.slice(-lines), [buffer, version]);
  const problem = stream.problem.value;
  if (shown.length === 0) return <p class="soft">{problem ? <Data text={problem.message} limit={400} /> : stream.status.value === "ended" ? k.noLines : k.noLinesYet}</p>;
  return <pre class="last-lines">{shown.map((line) => <div class={`severity-${rankOf(line.severity)} wrap`}><LineText text={line.text} limit={600} marked="" /></div>)}</pre>;
}
