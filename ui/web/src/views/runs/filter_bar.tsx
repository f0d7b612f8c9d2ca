/** The filters above the list of runs. */
import { useState } from "preact/hooks";
import { ActButton } from "../../acts/button.tsx";
import { Button, TextInput } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { serverNow } from "../../core/clock.ts";
import { namespaces } from "../../core/session.ts";
import { Popover } from "../../shell/popover.tsx";
import { t } from "../../texts.en.ts";
import { u } from "../../texts/runs.en.ts";
import { isFiltered, localInput, NO_FILTERS, timeChoices, timeText, type Filters } from "./filters.ts";
import type { Run } from "./run_list.ts";
import { SavedFilters } from "./saved_filters.tsx";

export interface FilterProps { filters: Filters; onChange: (changed: Partial<Filters>) => void }

export function FilterBar({ filters, runs, onChange }: FilterProps & { runs: Run[] }) {
  return (
    <div class="filters">
      <div class="row fold">
        <TextInput id="run-search" label={u.search} placeholder={u.search} icon="search" value={filters.text} onInput={(text) => onChange({ text })} />
        <div class="button-group" role="group" aria-label={u.source.label}>
          {(["all", "live", "archive"] as const).map((source) => <Button key={source} label={u.source[source]} pressed={filters.source === source} onClick={() => onChange({ source })} />)}
        </div>
        <TimeFilter filters={filters} onChange={onChange} />
        <MoreFilters filters={filters} runs={runs} onChange={onChange} />
        <SavedFilters />
        {isFiltered(filters) ? <Button kind="quiet" icon="close" label={u.clearAll} onClick={() => onChange(NO_FILTERS)} /> : null}
        <span class="grow" />
        <ActButton request={{ act: "submit", subject: "", body: {}, namespaces: namespaces.value }} access={{}} icon="plus" />
      </div>
      <div class="row fold">
        <StateChips filters={filters} runs={runs} onChange={onChange} />
        {(["template", "schedule", "label"] as const).filter((name) => filters[name]).map((name) => (
          <button type="button" key={name} class="chip" aria-pressed="true" aria-label={u.remove(name)} onClick={() => onChange({ [name]: "" })}>
            <span class="clip"><Data text={filters[name]} limit={260} /></span><Icon name="close" size={10} />
          </button>
        ))}
      </div>
    </div>
  );
}

function StateChips({ filters, runs, onChange }: FilterProps & { runs: Run[] }) {
  const counts = new Map<string, number>();
  for (const run of runs) counts.set(run.state, (counts.get(run.state) ?? 0) + 1);
  const toggle = (state: string) => onChange({ states: filters.states.includes(state) ? filters.states.filter((each) => each !== state) : [...filters.states, state] });
  const shown = u.states.filter((state, index) => index < 3 || counts.has(state) || filters.states.includes(state));
  return (
    <div class="row fold" role="group" aria-label={u.stateFilter}>
      {shown.map((state) => (
        <button type="button" key={state} class="chip" aria-pressed={filters.states.includes(state)} onClick={() => toggle(state)}>{state}{counts.has(state) ? <span class="count">{(counts.get(state) ?? 0).toLocaleString("en-GB")}</span> : null}</button>
      ))}
    </div>
  );
}

function TimeFilter({ filters, onChange }: FilterProps) {
  return (
    <Popover label={timeText(filters)} icon="clock" kind="plain" start>
      {(close) => (
        <div class="stack popover-pad">
          <div class="menu-list">
            {timeChoices(serverNow()).map((choice) => (
              <button type="button" key={choice.label} class="menu-item" onClick={() => { close(); onChange(choice.filters); }}>{choice.label}</button>
            ))}
          </div>
          <TimeFields filters={filters} onChange={onChange} />
          <p class="soft small">{u.timeHelp}</p>
        </div>
      )}
    </Popover>
  );
}

function TimeFields({ filters, onChange }: FilterProps) {
  const value = (text: string): string => (/^\d{4}-\d\d-\d\dT/.test(text) ? text.slice(0, 16) : "");
  const field = (name: "since" | "until", label: string) => (
    <label class="field"><span class="field-label">{label}</span><span class="input"><input type="datetime-local" value={value(filters[name])} max={localInput(serverNow())} onChange={(event) => onChange({ at: "", [name]: event.currentTarget.value })} /></span></label>
  );
  return <div class="row fold">{field("since", u.from)}{field("until", u.until)}</div>;
}

function MoreFilters({ filters, runs, onChange }: FilterProps & { runs: Run[] }) {
  return <Popover label={u.more} icon="filter" kind="plain" start>{(close) => <MoreFields filters={filters} runs={runs} onChange={(changed) => { close(); onChange(changed); }} />}</Popover>;
}

function MoreFields({ filters, runs, onChange }: FilterProps & { runs: Run[] }) {
  const [draft, setDraft] = useState({ template: filters.template, schedule: filters.schedule, label: filters.label });
  const wrong = draft.label !== "" && !/^[^=,]+=[^=,]*$/.test(draft.label);
  const names = (name: "template" | "schedule") => [...new Set(runs.map((run) => run[name]).filter((each) => each !== ""))].sort().slice(0, 200);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!wrong) onChange(draft);
  };
  return (
    <form class="stack popover-pad" onSubmit={submit}>
      {(["template", "schedule"] as const).map((name) => (
        <label class="field" key={name}><span class="field-label">{u[name]}</span>
          <span class="input"><input list={`known-${name}`} value={draft[name]} autocomplete="off" onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })} /></span>
          <datalist id={`known-${name}`}>{names(name).map((each) => <option key={each} value={each} />)}</datalist>
        </label>
      ))}
      <TextInput label={u.label} hideLabel={false} value={draft.label} placeholder="team=data" {...(wrong ? { invalid: u.labelInvalid } : {})} onInput={(label) => setDraft({ ...draft, label })} />
      <div class="row"><span class="grow" /><button type="submit" class="button primary">{t.apply}</button></div>
    </form>
  );
}
