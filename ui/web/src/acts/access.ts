/** What the caller may do in a namespace, asked once a minute at most. A run or a Schedule may say more about itself. */
import { signal, type Signal } from "@preact/signals";
import type { Access } from "../contract.ts";
import { getJson, queryOf } from "../core/api.ts";

const AGE = 60_000;
const known = new Map<string, { at: number; access: Signal<Access> }>();

/** Empty until the answer is there, and if there is none: the server checks each act anyway. */
export function accessIn(namespace: string): Signal<Access> {
  const entry = known.get(namespace) ?? { at: 0, access: signal<Access>({}) };
  known.set(namespace, entry);
  if (Date.now() - entry.at > AGE) {
    entry.at = Date.now();
    getJson<{ acts?: Access }>(`api/access${queryOf({ ns: namespace })}`).then(
      (answer) => (entry.access.value = answer.acts ?? {}),
      () => undefined,
    );
  }
  return entry.access;
}

/** What is known of the object itself goes before what is known of its namespace. */
export function accessOf(namespace: string | undefined, own: Access | undefined): Access {
  return namespace === undefined ? own ?? {} : { ...accessIn(namespace).value, ...own };
}
