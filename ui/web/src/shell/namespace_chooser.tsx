/** Chooses the namespaces of all lists: one, several, or all that the viewer may list. */
import { useState } from "preact/hooks";
import { Button, TextInput } from "../components/basics.tsx";
import { Data } from "../components/data.tsx";
import { chooseNamespaces, namespaces, session } from "../core/session.ts";
import { t } from "../texts.en.ts";
import { Popover } from "./popover.tsx";

const MOST_SHOWN = 200;

export function NamespaceChooser() {
  const known = session.value?.namespaces ?? [];
  return (
    <Popover label={t.chosenNamespaces(namespaces.value, known.length)} icon="filter">
      {(close) => <Choices known={known} close={close} />}
    </Popover>
  );
}

function Choices({ known, close }: { known: string[]; close: () => void }) {
  const [chosen, setChosen] = useState(new Set(namespaces.value));
  const [typed, setTyped] = useState("");
  const shown = known.filter((name) => name.includes(typed.toLowerCase())).slice(0, MOST_SHOWN);
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  const apply = (names: string[]) => {
    close();
    chooseNamespaces(names);
  };
  if (known.length === 0) return <p class="page-pad soft">{t.noNamespaces}</p>;
  return (
    <div class="stack" role="group" aria-label={t.namespaces}>
      <div class="row namespace-find"><TextInput wide label={t.findNamespace} placeholder={t.findNamespace} icon="search" value={typed} onInput={setTyped} /></div>
      <div class="menu-list">
        {shown.map((name) => (
          <label key={name} class="menu-item"><input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} /><span class="clip"><Data text={name} /></span></label>
        ))}
      </div>
      <div class="row namespace-foot"><Button label={t.allNamespaces} onClick={() => apply(known)} /><span class="grow" /><Button kind="primary" label={t.apply} onClick={() => apply([...chosen])} /></div>
    </div>
  );
}
