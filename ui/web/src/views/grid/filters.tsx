/** The filters of the grid. They are in the URL, so that a filtered grid can be sent to somebody. */
import { useMemo } from "preact/hooks";
import { Select, TextInput } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { ToneMark } from "../../components/tone.tsx";
import type { InstanceColumns } from "../../contract.ts";
import { count } from "../../core/numbers.ts";
import { location, setQuery } from "../../core/router.ts";
import { gr } from "../../texts/graph.en.ts";
import { countStates, parseSeconds, type GridFilter } from "./filter.ts";

export function filterOf(query: URLSearchParams): GridFilter {
  return {
    states: new Set((query.get("state") ?? "").split(",").filter((each) => each !== "")),
    task: query.get("of") ?? "", text: query.get("text") ?? "", node: query.get("node") ?? "",
    longerThan: parseSeconds(query.get("longer") ?? ""),
  };
}

export function GridFilters({ columns, filter, version }: { columns: InstanceColumns; filter: GridFilter; version: number }) {
  const states = useMemo(() => countStates(columns, filter), [columns, version, filter]);
  const tones = useMemo(() => new Map(columns.state.map((state, row) => [state, columns.tone[row]])), [columns, version]);
  const tasks = useMemo(() => [...new Set(columns.task)], [columns, version]);
  const nodes = useMemo(() => [...new Set(columns.node)].filter((each) => each).sort(), [columns, version]);
  const shown = [...new Set([...states.keys(), ...filter.states])];
  const toggle = (state: string) => {
    const next = new Set(filter.states);
    if (!next.delete(state)) next.add(state);
    setQuery({ state: [...next].join(",") || null });
  };
  const choices = (all: string, values: string[]) => [{ value: "", label: all }, ...values.map((value) => ({ value, label: value }))];
  return (
    <div class="toolbar row fold grid-filters">
      <TextInput label={gr.find} placeholder={gr.find} icon="search" value={filter.text} onInput={(text) => setQuery({ text: text || null })} wide type="search" />
      {tasks.length > 1 ? <Select label={gr.task} value={filter.task} options={choices(gr.allTasks, tasks)} onChange={(task) => setQuery({ of: task || null })} /> : null}
      {nodes.length > 1 ? <Select label={gr.node} value={filter.node} options={choices(gr.allNodes, nodes)} onChange={(node) => setQuery({ node: node || null })} /> : null}
      <TextInput label={gr.longer} placeholder={`${gr.longer} ${gr.longerHint}`} icon="clock" value={location.value.query.get("longer") ?? ""} onInput={(longer) => setQuery({ longer: longer || null })} />
      <div class="row fold" role="group" aria-label={gr.states}>
        {shown.map((state) => (
          <button key={state} type="button" class="chip" aria-pressed={filter.states.has(state)} onClick={() => toggle(state)}>
            <ToneMark tone={tones.get(state)} size={12} /><Data text={state} limit={60} /> <span class="count">{count(states.get(state) ?? 0)}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
