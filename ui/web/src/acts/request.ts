/** What a button asks for: an act, what it is about, and whether the caller may. Pure. */
import type { Access, ActName, AnswerForm } from "../contract.ts";
import { a } from "../texts/acts.en.ts";

export interface ActRequest {
  act: ActName;
  /** What it is about, as the title of the dialog names it. */
  subject: string;
  /** The body of the request: runs, tasks, schedules and more. */
  body: Record<string, unknown>;
  /** Params of an earlier run, which a form starts with. */
  params?: Record<string, unknown> | undefined;
  /** Of `resubmit`: the template of the run, whose typed params make the form. */
  template?: { namespace: string; name: string } | undefined;
  namespaces?: string[] | undefined;
  /** Of `approve`: what the approval asks for. */
  form?: AnswerForm | null | undefined;
}

/** What is lost or ends at once: the button that confirms warns. */
export const DANGEROUS: ReadonlySet<ActName> = new Set(["cancel", "stop", "delete", "reject"]);
/** Acts whose dialog asks for more before it can show what they will do. */
export const WITH_FORM: ReadonlySet<ActName> = new Set(["approve", "reject", "mark", "submit", "resubmit", "backfill"]);

/** Why the caller may not; undefined if they may. The server checks again. */
export function refusal(access: Access, act: ActName, readOnly: boolean): string | undefined {
  if (readOnly) return a.readOnly;
  const known = access[act];
  return known === undefined || known.allowed ? undefined : known.reason;
}
