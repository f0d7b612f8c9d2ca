/** A JSON value as a tree that opens by level. Long lists and texts are cut until asked for. */
import { useState } from "preact/hooks";
import { count } from "../core/numbers.ts";
import { Data } from "./data.tsx";
import { Icon } from "./icons.tsx";

const STEP = 100;
const LONG_TEXT = 1000;
const DEEPEST = 60;

export function JsonTree({ value, open = 2 }: { value: unknown; open?: number }) {
  return <div class="json mono"><Node value={value} depth={0} open={open} /></div>;
}

function Node({ name, value, depth, open }: { name?: string; value: unknown; depth: number; open: number }) {
  const nested = typeof value === "object" && value !== null && depth < DEEPEST;
  if (nested) return <Branch {...(name === undefined ? {} : { name })} value={value} depth={depth} open={open} />;
  return <div class="json-line"><Name name={name} /><Leaf value={value} /></div>;
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span class="json-name"><Data text={name} limit={200} />: </span>;
}

function Branch({ name, value, depth, open }: { name?: string; value: object; depth: number; open: number }) {
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const length = keys?.length ?? (value as unknown[]).length;
  const [unfolded, setUnfolded] = useState(depth === 0 || (depth < open && length <= STEP));
  const [shown, setShown] = useState(STEP);
  const list = keys === null;
  if (length === 0) return <div class="json-line"><Name name={name} />{list ? "[]" : "{}"}</div>;
  return (
    <div>
      <button type="button" class="json-fold" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
        <Icon name={unfolded ? "down" : "right"} size={11} /><Name name={name} /><span class="soft">{list ? `[${count(length)}]` : `{${count(length)}}`}</span>
      </button>
      {unfolded ? (
        <div class="json-inside">
          {(keys?.slice(0, shown) ?? Array.from({ length: Math.min(shown, length) }, (_, index) => String(index))).map((key) => <Node key={key} name={key} value={(value as Record<string, unknown>)[key]} depth={depth + 1} open={open} />)}
          {length > shown ? <button type="button" class="json-fold" onClick={() => setShown(shown + 10 * STEP)}><Icon name="more" size={11} /><span>+{count(length - shown)}</span></button> : null}
        </div>
      ) : null}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value === "string") {
    return <span class="json-text wrap">"<Data text={value} limit={whole ? 1_000_000 : LONG_TEXT} />"{!whole && value.length > LONG_TEXT ? <button type="button" class="json-fold inline" onClick={() => setWhole(true)}>+{count(value.length - LONG_TEXT)}</button> : null}</span>;
  }
  const kind = value === null ? "null" : typeof value;
  return <span class={`json-${kind}`}>{typeof value === "object" ? "…" : String(value)}</span>;
}
