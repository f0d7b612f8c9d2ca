/** What can be done with the selected instances. */
import { accessOf } from "../../acts/access.ts";
import { ActButton } from "../../acts/button.tsx";
import { Button } from "../../components/basics.tsx";
import type { RunStore } from "../../core/run_store.ts";
import { a } from "../../texts/acts.en.ts";
import { gr } from "../../texts/graph.en.ts";

/** The most instances that the server takes at once. */
const MOST = 5000;

export function Selection({ store, keys, onClear }: { store: RunStore; keys: string[]; onClear: () => void }) {
  const body = { runs: [store.key], tasks: keys };
  const access = accessOf(store.head.value?.namespace, store.acts.value);
  const subject = a.selected(keys.length);
  const disabled = keys.length > MOST ? gr.tooMany(MOST) : undefined;
  return (
    <div class="row">
      <span class="strong small" role="status">{gr.selected(keys.length)}</span>
      <Button kind="quiet" label={gr.selectNone} onClick={onClear} />
      <ActButton request={{ act: "retry", subject, body }} access={access} icon="refresh" kind="primary" label={gr.retrySelected(keys.length)} disabled={disabled} />
      <ActButton request={{ act: "mark", subject, body }} access={access} label={gr.markSelected} disabled={disabled} />
    </div>
  );
}
