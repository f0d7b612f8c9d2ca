/** The panel of one instance beside the views of its run. */
import { Button } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { setQuery } from "../../core/router.ts";
import type { RunStore } from "../../core/run_store.ts";
import { t } from "../../texts.en.ts";

export function TaskPanel({ instance }: { store: RunStore; instance: string }) {
  return <aside class="task-panel"><div class="row"><h2 class="grow"><Data text={instance} /></h2><Button kind="quiet" iconOnly icon="close" label={t.close} onClick={() => setQuery({ task: null })} /></div></aside>;
}
