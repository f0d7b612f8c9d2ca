/** The answers to the form of an approval, as the request has them. Pure. */
import type { AnswerForm } from "../contract.ts";

export type Answers = Record<string, unknown>;

/** What the form adds to the request; null while a field has a problem or no option is chosen. */
export function withNote(form: AnswerForm, fields: Answers | null, options: readonly string[], note: string): Record<string, unknown> | null {
  if (fields === null || (form.options.length > 0 && options.length === 0)) return null;
  const ordered = form.options.filter((option) => options.includes(option));
  const answers = form.options.length > 0 ? { ...fields, options: ordered } : fields;
  return note.trim() === "" ? { answers } : { answers, note: note.trim() };
}

/** Whether the form shows the problem beside one of its fields. */
export function isShown(form: AnswerForm | null | undefined, field: string | undefined): boolean {
  if (!form || field === undefined) return false;
  return form.fields.some((each) => each.name === field) || (field === "options" && form.options.length > 0);
}
