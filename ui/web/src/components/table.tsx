/**
 * A table of any length: rows of one height, of which only those in sight exist. Keys move, open and select.
 *
 * `rows` may be objects or numbers (indexes of columns). The scroller has the focus; `aria-activedescendant` names the row.
 */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { narrow } from "../core/screen.ts";
import { nextRow, windowOf } from "../core/windowing.ts";
import { t } from "../texts.en.ts";
import { Icon } from "./icons.tsx";

export interface Sort { column: string; descending: boolean }

export interface Column<Row> {
  id: string;
  title: string;
  /** A CSS grid track, such as "120px" or "minmax(160px, 2fr)". */
  width: string;
  cell: (row: Row) => ComponentChildren;
  align?: "start" | "end";
  sortable?: boolean;
  /** Left out on narrow screens. */
  wideOnly?: boolean;
  /** For screen readers only, where a title would take more room than the column. */
  hideTitle?: boolean;
}

export interface TableProps<Row> {
  label: string;
  rows: ArrayLike<Row>;
  columns: Column<Row>[];
  rowKey: (row: Row) => string;
  sort?: Sort | undefined;
  onSort?: ((sort: Sort) => void) | undefined;
  onOpen?: ((row: Row) => void) | undefined;
  selected?: ReadonlySet<string> | undefined;
  onSelect?: ((key: string, range: boolean) => void) | undefined;
  /** The key of the row that another part of the page shows. */
  current?: string | undefined;
  /** Changes when the content of rows changes though `rows` is the same array. */
  version?: unknown;
  /** Called near the end of the rows, to fetch more. */
  onEnd?: (() => void) | undefined;
  rowHeight?: number;
}

const OVERSCAN = 10;
/** Rows are drawn again after so many have passed, and not at each event of the scroller. */
const STEP = 4;
/** A row as it was drawn: the same node again tells Preact that nothing has changed. */
interface KeptRow { depends: unknown[]; node: ComponentChildren }
let tables = 0;

export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, rowKey, rowHeight = 30 } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const id = useMemo(() => `table-${(tables += 1)}`, []);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  const shown = columns.filter((column) => !(column.wideOnly && narrow.value));
  const { first, last } = windowOf(top, height, rowHeight, rows.length, OVERSCAN);
  const at = Math.min(active, Math.max(0, rows.length - 1));

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (props.onEnd && last >= rows.length - 20) props.onEnd();
  }, [last, rows.length]);

  const reveal = useCallback((index: number) => {
    const element = scroller.current;
    if (!element) return;
    const rowTop = index * rowHeight;
    if (rowTop < element.scrollTop) element.scrollTop = rowTop;
    else if (rowTop + 2 * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = rowTop + 2 * rowHeight - element.clientHeight;
  }, [rowHeight]);

  const key = (event: KeyboardEvent) => {
    const row = rows[at];
    if (event.target !== scroller.current || row === undefined) return;
    const next = nextRow(event.key, at, rows.length, Math.max(1, Math.floor(height / rowHeight) - 2));
    if (next !== null) {
      setActive(next);
      reveal(next);
    } else if (event.key === "Enter" && props.onOpen) props.onOpen(row);
    else if (event.key === " " && props.onSelect) props.onSelect(rowKey(row), event.shiftKey);
    else return;
    event.preventDefault();
  };

  const template = shown.map((column) => column.width).join(" ");
  const kept = useRef(new Map<string, KeptRow>());
  const next = new Map<string, KeptRow>();
  const visible: ComponentChildren[] = [];
  for (let index = first; index < last; index += 1) {
    const row = rows[index] as Row;
    const name = rowKey(row);
    const chosen = props.selected?.has(name);
    const classes = `tr${index === at ? " active" : ""}${chosen ? " selected" : ""}${props.current === name ? " current" : ""}`;
    const depends = [row, index, classes, columns, template, rowHeight, props.version];
    const before = kept.current.get(name);
    const node = before && depends.every((each, place) => each === before.depends[place]) ? before.node : (
      <div key={name} id={`${id}-${index}`} role="row" aria-rowindex={index + 2} aria-selected={chosen} class={classes} style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px`, gridTemplateColumns: template }}
        onClick={(event) => clicked(event, () => { setActive(index); latest.current.onOpen?.(row); })}>
        {shown.map((column) => <div key={column.id} role="gridcell" class={`td${column.align === "end" ? " end" : ""}`}>{column.cell(row)}</div>)}
      </div>
    );
    next.set(name, { depends, node });
    visible.push(node);
  }
  kept.current = next;
  return (
    <div ref={scroller} class="table" role="grid" tabIndex={0} aria-label={props.label} aria-rowcount={rows.length + 1} aria-colcount={shown.length} aria-multiselectable={props.selected ? true : undefined}
      aria-activedescendant={rows.length > 0 && at >= first && at < last ? `${id}-${at}` : undefined} onScroll={(event) => setTop(Math.floor(event.currentTarget.scrollTop / (STEP * rowHeight)) * STEP * rowHeight)} onKeyDown={key}>
      <div role="rowgroup" class="thead">
        <div role="row" aria-rowindex={1} class="tr head" style={{ gridTemplateColumns: template }}>
          {shown.map((column) => <HeadCell key={column.id} column={column} sort={props.sort} onSort={props.onSort} />)}
        </div>
      </div>
      <div role="rowgroup" class="tbody" style={{ height: `${rows.length * rowHeight}px` }}>{visible}</div>
    </div>
  );
}

/** A click on a link, a button or a field inside a row is theirs; a click that ends a selection of text is none. */
function clicked(event: MouseEvent, open: () => void): void {
  const inside = event.target instanceof Element ? event.target.closest("a, button, input, label, select") : null;
  if (inside || (getSelection()?.toString() ?? "") !== "") return;
  open();
}

function HeadCell<Row>({ column, sort, onSort }: { column: Column<Row>; sort: Sort | undefined; onSort: ((sort: Sort) => void) | undefined }) {
  const sorted = sort?.column === column.id;
  const order = sorted ? (sort.descending ? "descending" : "ascending") : undefined;
  return (
    <div role="columnheader" aria-sort={order} class={`th${column.align === "end" ? " end" : ""}`}>
      {column.sortable && onSort ? (
        <button type="button" class="sort" title={t.sortBy(column.title)} onClick={() => onSort({ column: column.id, descending: sorted ? !sort.descending : false })}>
          <span class="clip">{column.title}</span>{sorted ? <Icon name={sort.descending ? "down" : "up"} size={11} /> : null}
        </button>
      ) : <span class={column.hideTitle ? "sr" : "clip"}>{column.title}</span>}
    </div>
  );
}
