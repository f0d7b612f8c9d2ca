/** The drawing of the graph. Boxes are elements, so that they can have the focus; edges are one SVG below them. */
import { memo } from "preact/compat";
import { useCallback, useMemo } from "preact/hooks";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { ToneMark } from "../../components/tone.tsx";
import { plain } from "../../core/characters.ts";
import { g } from "../../texts/graph.en.ts";
import { pathOf, type GraphLayout, type Rect, type Route } from "./layout.ts";
import { neighbours, type GraphBox, type GraphModel } from "./model.ts";
import { nextBox } from "./keys.ts";
import type { PanZoom } from "./pan_zoom.ts";

export interface CanvasProps {
  model: GraphModel; layout: GraphLayout; view: PanZoom; critical: ReadonlySet<string>;
  /** The task whose instance is open beside the graph. */
  current: string;
  /** The id of the box that keys move from. */
  active: string; onActive: (id: string) => void;
  onOpen: (task: string) => void; onFold: (group: string) => void;
}

export function Canvas({ model, layout, view, critical, current, active, onActive: setActive, onOpen, onFold }: CanvasProps) {
  const around = useMemo(() => neighbours(model), [model]);
  const { camera } = view;
  const known = layout.rects.has(active) ? active : model.boxes[0]?.id ?? "";
  const use = useCallback((box: GraphBox) => (box.kind === "group" ? onFold(box.name) : onOpen(box.name)), [onFold, onOpen]);
  const key = (event: KeyboardEvent) => {
    const box = model.boxes.find((each) => each.id === known);
    if (box === undefined) return;
    if (event.key === "Enter" || event.key === " ") use(box);
    else {
      const next = nextBox(event.key, known, layout.rects, around);
      if (next === null) return;
      setActive(next);
      view.reveal(layout.rects.get(next) as Rect);
    }
    event.preventDefault();
  };
  return (
    <div ref={view.element} class="graph-canvas" role="application" aria-label={`${g.label}. ${g.help}`} tabIndex={0} aria-activedescendant={`box-${known}`} onKeyDown={key}>
      <div class="graph-drawing" style={{ transform: `translate(${camera.x}px, ${camera.y}px) scale(${camera.scale})`, width: `${layout.width}px`, height: `${layout.height}px` }}>
        <Groups model={model} layout={layout} active={known} onUse={use} onActive={setActive} />
        <Edges layout={layout} critical={critical} />
        <Tasks model={model} layout={layout} active={known} current={current} critical={critical} onUse={use} onActive={setActive} />
      </div>
    </div>
  );
}

const Edges = memo(function Edges({ layout, critical }: { layout: GraphLayout; critical: ReadonlySet<string> }) {
  return (
    <svg class="graph-edges" width={layout.width} height={layout.height} aria-hidden="true">
      {layout.routes.map((route) => <path key={`${route.from}>${route.to}`} d={pathOf(route.points)} class={edgeClass(route, critical)} />)}
    </svg>
  );
});

function edgeClass(route: Route, critical: ReadonlySet<string>): string {
  const both = critical.has(route.from.slice(5)) && critical.has(route.to.slice(5));
  return `edge${both ? " critical" : ""}${route.kind === "list" ? " list" : ""}`;
}

interface BoxesProps { model: GraphModel; layout: GraphLayout; active: string; onUse: (box: GraphBox) => void; onActive: (id: string) => void }

/** Open groups, which lie below the edges. */
function Groups({ model, layout, active, onUse, onActive }: BoxesProps) {
  return (
    <>
      {model.boxes.filter((box) => box.kind === "group" && !box.folded).map((box) => (
        <div key={box.id} id={`box-${box.id}`} class={`graph-group${box.id === active ? " active" : ""}`} style={styleOf(layout.rects.get(box.id))} role="group" aria-label={g.group(plain(box.name), box.tasks, false)}>
          <button type="button" tabIndex={-1} class="graph-group-head" title={g.foldOne(plain(box.name))} onClick={() => { onActive(box.id); onUse(box); }}>
            <Icon name="down" size={11} /><span class="clip"><Data text={box.name} limit={80} /></span><span class="soft">{g.tasks(box.tasks)}</span>
          </button>
        </div>
      ))}
    </>
  );
}

function Tasks({ model, layout, active, current, critical, onUse, onActive }: BoxesProps & { current: string; critical: ReadonlySet<string> }) {
  return (
    <>
      {model.boxes.filter((box) => box.kind === "task" || box.folded).map((box) => (
        <Box key={box.id} box={box} rect={layout.rects.get(box.id)} active={box.id === active} current={box.kind === "task" && box.name === current} critical={critical.has(box.name)} onUse={onUse} onActive={onActive} />
      ))}
    </>
  );
}

interface BoxProps { box: GraphBox; rect: Rect | undefined; active: boolean; current: boolean; critical: boolean; onUse: (box: GraphBox) => void; onActive: (id: string) => void }

const Box = memo(function Box({ box, rect, active, current, critical, onUse, onActive }: BoxProps) {
  const group = box.kind === "group";
  const use = () => {
    onActive(box.id);
    onUse(box);
  };
  return (
    <div id={`box-${box.id}`} role="button" tabIndex={-1} title={`${plain(box.name)}: ${plain(detailOf(box))}`} style={styleOf(rect)} onClick={use}
      class={`graph-box tone-${box.tone}${box.mapped || group ? " many" : ""}${active ? " active" : ""}${current ? " current" : ""}${critical ? " critical" : ""}${box.state === "" && !group ? " before" : ""}`}>
      <div class="row graph-box-line">
        {group ? <Icon name="right" size={12} /> : <ToneMark tone={box.tone} />}{group ? <span class="sr">{g.folded}</span> : null}
        <span class="clip strong grow"><Data text={box.name} limit={120} /></span>
      </div>
      <div class="clip graph-detail"><Data text={detailOf(box)} limit={120} /></div>
      {box.shares.length > 0 ? <ShareBar box={box} /> : null}
    </div>
  );
}, (before, after) => before.active === after.active && before.current === after.current && before.critical === after.critical && before.rect === after.rect && before.onUse === after.onUse && sameBox(before.box, after.box));

/** What there is room for below the name: the counts of a mapped task, else its state and kind. */
function detailOf(box: GraphBox): string {
  if (box.kind === "group") return g.tasks(box.tasks);
  return box.progress || [box.state, ...box.details].filter((each) => each !== "").join(" · ");
}

function sameBox(a: GraphBox, b: GraphBox): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** How much of a mapped task or a folded group is in which tone. */
function ShareBar({ box }: { box: GraphBox }) {
  return <div class="share-bar" aria-hidden="true">{box.shares.map(([tone, share]) => <span class={`area tone-${tone}`} style={{ flexGrow: share }} />)}</div>;
}

function styleOf(rect: Rect | undefined): Record<string, string> {
  return rect ? { left: `${rect.x}px`, top: `${rect.y}px`, width: `${rect.width}px`, height: `${rect.height}px` } : {};
}
