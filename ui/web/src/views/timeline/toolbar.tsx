/** The controls above the timeline, and the legend. */
import { Button, Select, TextInput } from "../../components/basics.tsx";
import { l } from "../../texts/timeline.en.ts";
import type { Order, Which } from "./rows.ts";

export interface Controls { text: string; order: Order; which: Which; critical: boolean; overlay: boolean; table: boolean }

export interface ToolbarProps {
  controls: Controls; onChange: (changed: Partial<Controls>) => void; criticalMissing: boolean; overlayMissing: boolean; rows: number; grouped: boolean; unfolded: boolean;
  onUnfold: () => void; onZoom: (factor: number) => void; onFit: () => void; fitted: boolean;
}

export function Toolbar({ controls, onChange, criticalMissing, overlayMissing, rows, grouped, unfolded, onUnfold, onZoom, onFit, fitted }: ToolbarProps) {
  return (
    <div class="timeline-bar row fold">
      <TextInput id="timeline-filter" label={l.filter} placeholder={l.filter} icon="search" value={controls.text} onInput={(text) => onChange({ text })} />
      <Select label={l.state.label} value={controls.which} onChange={(which) => onChange({ which: which as Which })} options={(["all", "open", "waiting", "bad"] as const).map((value) => ({ value, label: l.state[value] }))} />
      <Select label={l.order.label} value={controls.order} onChange={(order) => onChange({ order: order as Order })} options={(["task", "start", "duration"] as const).map((value) => ({ value, label: l.order[value] }))} />
      {grouped ? <Button kind="quiet" icon={unfolded ? "up" : "down"} label={unfolded ? l.fold : l.unfold} onClick={onUnfold} /> : null}
      <Button label={l.critical} icon="path" pressed={controls.critical} disabled={criticalMissing && l.criticalNone} onClick={() => onChange({ critical: !controls.critical })} />
      <Button label={l.overlay} icon="overlay" pressed={controls.overlay} disabled={overlayMissing && l.overlayNone} onClick={() => onChange({ overlay: !controls.overlay })} />
      <span class="grow" />
      <span class="soft small">{l.rows(rows)}</span>
      <div class="button-group" role="group">
        <Button iconOnly icon="minus" label={l.zoomOut} onClick={() => onZoom(1.8)} />
        <Button iconOnly icon="plus" label={l.zoomIn} onClick={() => onZoom(1 / 1.8)} />
        <Button iconOnly icon="fit" label={l.fit} disabled={fitted && l.fit} onClick={onFit} />
      </div>
      <Button icon="table" label={l.table} pressed={controls.table} onClick={() => onChange({ table: !controls.table })} />
    </div>
  );
}

export function Legend() {
  return (
    <ul class="legend row fold small soft">
      {(["running", "waiting", "queued", "starting", "backing off", "gap"] as const).map((phase) => <li key={phase} class="row"><span class={`phase-mark phase-${phase.replace(" ", "-")}`} />{l.legend[phase]}</li>)}
    </ul>
  );
}
