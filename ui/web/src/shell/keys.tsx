/** The list of keys, opened by `?`. */
import { signal } from "@preact/signals";
import { Dialog } from "../components/dialog.tsx";
import { hotkeys } from "../core/hotkeys.ts";
import { t } from "../texts.en.ts";

export const showKeys = signal(false);

/** "mod+k" as it stands on a keyboard: "Ctrl K". */
export function keyNames(keys: string): string[] {
  const names: Record<string, string> = { mod: /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl", shift: "Shift", alt: "Alt", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space" };
  return keys.split(/[ +]/).map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key));
}

export function Keys({ keys }: { keys: string }) {
  return <>{keyNames(keys).map((name) => <><kbd>{name}</kbd>{" "}</>)}</>;
}

export function KeysDialog() {
  if (!showKeys.value) return null;
  const groups = new Map<string, typeof hotkeys.value>();
  for (const each of hotkeys.value) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  return (
    <Dialog title={t.keysTitle} kind="wide" onClose={() => (showKeys.value = false)}>
      <div class="keys">
        {[...groups].map(([group, entries]) => (
          <section key={group} class="stack"><h3>{group}</h3>
            <dl>{entries.map((each) => <><dt><Keys keys={each.keys} /></dt><dd>{each.label}</dd></>)}</dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
