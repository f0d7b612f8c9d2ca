/** What is above the graph: folding, zoom, and what the colours mean. */
import type { ComponentChildren } from "preact";
import { Button } from "../../components/basics.tsx";
import { g } from "../../texts/graph.en.ts";
import type { PanZoom } from "./pan_zoom.ts";

export interface ToolbarProps { groups: string[]; folded: ReadonlySet<string>; onFold: (folded: ReadonlySet<string>) => void; view: PanZoom; critical: boolean; children?: ComponentChildren }

export function Toolbar({ groups, folded, onFold, view, critical, children }: ToolbarProps) {
  return (
    <div class="toolbar row fold">
      {groups.length > 0 ? (
        <span class="button-group">
          <Button label={g.fold} onClick={() => onFold(new Set(groups))} disabled={folded.size === groups.length ? g.fold : undefined} />
          <Button label={g.unfold} onClick={() => onFold(new Set())} disabled={folded.size === 0 ? g.unfold : undefined} />
        </span>
      ) : null}
      {critical ? <span class="row small soft"><svg width="24" height="8" aria-hidden="true"><path d="M0 4H24" class="edge critical" /></svg>{g.critical}</span> : null}
      <span class="grow" />
      {children}
      <span class="button-group">
        <Button icon="minus" iconOnly label={g.zoomOut} onClick={() => view.zoom(0.8)} />
        <Button icon="plus" iconOnly label={g.zoomIn} onClick={() => view.zoom(1.25)} />
        <Button icon="fit" iconOnly label={g.fit} onClick={view.fit} />
      </span>
    </div>
  );
}
