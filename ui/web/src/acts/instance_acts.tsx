/** The buttons that change one instance of a run. */
import type { AnswerForm, InstanceRow } from "../contract.ts";
import type { RunStore } from "../core/run_store.ts";
import { a } from "../texts/acts.en.ts";
import { accessOf } from "./access.ts";
import { ActButton } from "./button.tsx";

/** The class of waits that a person answers. */
const APPROVAL = "approval";

/** `form` is undefined until the instance is read: without it, an answer may lack what the approval asks for. */
export function InstanceActs({ store, row, form }: { store: RunStore; row: InstanceRow; form: AnswerForm | null | undefined }) {
  const access = accessOf(store.head.value?.namespace, store.acts.value);
  const body = { runs: [store.key], tasks: [row.key] };
  return (
    <div class="row fold">
      <ActButton request={{ act: "retry", subject: row.label, body }} access={access} icon="refresh" />
      {row.waitClass === APPROVAL ? (
        <>
          <ActButton request={{ act: "approve", subject: row.label, body, form }} access={access} icon="check" kind="primary" disabled={form === undefined ? a.wait : undefined} />
          <ActButton request={{ act: "reject", subject: row.label, body }} access={access} icon="cross" />
        </>
      ) : null}
      <ActButton request={{ act: "mark", subject: row.label, body }} access={access} />
    </div>
  );
}
