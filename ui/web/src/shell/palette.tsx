/** The command palette: views, commands of the view that is shown, and runs by name. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Data } from "../components/data.tsx";
import { Dialog } from "../components/dialog.tsx";
import type { RunList } from "../contract.ts";
import { getJson, queryOf } from "../core/api.ts";
import { commands, rank, type Command } from "../core/commands.ts";
import { href, navigate, runPath } from "../core/router.ts";
import { namespaces } from "../core/session.ts";
import { t } from "../texts.en.ts";
import { Keys } from "./keys.tsx";

export const showPalette = signal(false);
const FOUND_RUNS = 8;

export function Palette() {
  return showPalette.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const runs = useFoundRuns(typed);
  const shown = useMemo(() => [...matching(commands.value, typed), ...runs], [typed, runs, commands.value]);
  const at = Math.min(active, Math.max(0, shown.length - 1));
  const close = () => (showPalette.value = false);
  const run = (command: Command | undefined) => {
    if (!command || command.disabled) return;
    close();
    command.run();
  };
  const key = (event: KeyboardEvent) => {
    const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (move !== 0) setActive(Math.max(0, Math.min(shown.length - 1, at + move)));
    else if (event.key === "Enter") run(shown[at]);
    else return;
    event.preventDefault();
  };
  useEffect(() => document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <Dialog title={t.palette} kind="palette" onClose={close}>
      <input class="palette-input" autofocus role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={shown.length > 0 ? `palette-${at}` : undefined} aria-label={t.palette}
        placeholder={t.palette} spellcheck={false} autocomplete="off" value={typed} onKeyDown={key} onInput={(event) => { setTyped(event.currentTarget.value); setActive(0); }} />
      <div id="palette-list" class="palette-list" role="listbox" aria-label={t.palette}>
        {shown.length === 0 ? <div class="loading">{t.paletteEmpty}</div> : null}
        {shown.map((command, index) => (
          <div key={command.id} id={`palette-${index}`} role="option" aria-selected={index === at} aria-disabled={command.disabled ? true : undefined} class={`menu-item${index === at ? " active" : ""}`} title={command.disabled} onClick={() => run(command)} onMouseMove={() => setActive(index)}>
            <span class="grow clip"><Data text={command.title} limit={200} /></span>
            <span class="soft small">{command.group}</span>{command.keys ? <Keys keys={command.keys} /> : null}
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function matching(all: Command[], typed: string): Command[] {
  return all.map((command) => ({ command, rank: rank(`${command.title} ${command.group}`, typed) }))
    .filter((each): each is { command: Command; rank: number } => each.rank !== null)
    .sort((a, b) => a.rank - b.rank).map((each) => each.command).slice(0, 50);
}

function useFoundRuns(typed: string): Command[] {
  const [found, setFound] = useState<Command[]>([]);
  useEffect(() => {
    if (typed.trim().length < 2) return setFound([]);
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const path = `api/runs${queryOf({ ns: namespaces.peek().join(","), text: typed.trim(), limit: FOUND_RUNS, source: "all" })}`;
      getJson<RunList>(path, controller.signal).then((list) => setFound(asCommands(list)), () => setFound([]));
    }, 180);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [typed]);
  return found;
}

function asCommands(list: RunList): Command[] {
  const [key, namespace, name, state] = ["key", "namespace", "name", "state"].map((each) => list.columns.indexOf(each)) as [number, number, number, number];
  return list.rows.slice(0, FOUND_RUNS).map((row) => ({
    id: String(row[key]), title: `${row[namespace]}/${row[name]}`, group: String(row[state] ?? t.groups.runs), run: () => navigate(href(runPath(String(row[key])))),
  }));
}
