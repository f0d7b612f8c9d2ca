/** Filters under a name, kept by this browser. The address has the filters, too. */
import { useState } from "preact/hooks";
import { Button, TextInput } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { serverNow } from "../../core/clock.ts";
import { hrefWith, location, navigate } from "../../core/router.ts";
import { store, stored } from "../../core/storage.ts";
import { Popover } from "../../shell/popover.tsx";
import { u } from "../../texts/runs.en.ts";
import { NO_FILTERS, readFilters, readSaved, timeChoices, writeFilters, type Filters, type SavedFilter } from "./filters.ts";

const KEY = "torpor.run-filters";

export function SavedFilters() {
  return <Popover label={u.saved} icon="path" kind="plain" start>{(close) => <List close={close} />}</Popover>;
}

function List({ close }: { close: () => void }) {
  const [saved, setSaved] = useState(readSaved(stored(KEY)));
  const [name, setName] = useState("");
  const keep = (filters: SavedFilter[]) => {
    store(KEY, JSON.stringify(filters));
    setSaved(filters);
  };
  const use = (filters: Filters) => {
    close();
    navigate(hrefWith(writeFilters(filters)));
  };
  const save = (event: Event) => {
    event.preventDefault();
    if (name.trim() === "") return;
    const query = new URLSearchParams(Object.entries(writeFilters(readFilters(location.value.query))).filter((each): each is [string, string] => each[1] !== null)).toString();
    keep([...saved.filter((each) => each.name !== name.trim()), { name: name.trim(), query }]);
    setName("");
  };
  const night = timeChoices(serverNow()).find((each) => each.label === u.times.night)?.filters;
  return (
    <div class="stack popover-pad">
      <div class="menu-list">
        <button type="button" class="menu-item" onClick={() => use({ ...NO_FILTERS, states: ["Failed"], since: "24h" })}>{u.suggested.failed}</button>
        <button type="button" class="menu-item" onClick={() => use({ ...NO_FILTERS, states: ["Running"] })}>{u.suggested.active}</button>
        <button type="button" class="menu-item" onClick={() => use({ ...NO_FILTERS, ...night })}>{u.suggested.night}</button>
        {saved.map((each) => (
          <div class="row" key={each.name}>
            <button type="button" class="menu-item grow" onClick={() => use(readFilters(new URLSearchParams(each.query)))}><span class="clip"><Data text={each.name} limit={100} /></span></button>
            <Button kind="quiet" iconOnly icon="close" label={u.remove(each.name)} onClick={() => keep(saved.filter((other) => other !== each))} />
          </div>
        ))}
      </div>
      {saved.length === 0 ? <p class="soft small">{u.noSaved}</p> : null}
      <form class="row" onSubmit={save}><TextInput wide label={u.saveName} placeholder={u.saveName} value={name} onInput={setName} /><button type="submit" class="button">{u.save}</button></form>
    </div>
  );
}
