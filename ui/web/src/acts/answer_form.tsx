/** The form of an approval: its typed fields, its options, and a note. */
import { useEffect, useState } from "preact/hooks";
import { TextInput } from "../components/basics.tsx";
import { Data } from "../components/data.tsx";
import type { AnswerForm, Problem } from "../contract.ts";
import { a } from "../texts/acts.en.ts";
import { ParamForm } from "./param_form.tsx";
import { withNote, type Answers } from "./answers.ts";

export interface AnswerFieldsProps { form: AnswerForm; refused: Problem | null; onChange: (extra: Record<string, unknown> | null) => void }

export function AnswerFields({ form, refused, onChange }: AnswerFieldsProps) {
  const [fields, setFields] = useState<Answers | null>(form.fields.length === 0 ? {} : null);
  const [options, setOptions] = useState<readonly string[]>([]);
  const [note, setNote] = useState("");
  useEffect(() => onChange(withNote(form, fields, options, note)), [fields, options, note]);
  return (
    <div class="stack wide">
      {form.fields.length > 0 ? <ParamForm params={form.fields} given={{}} legend={a.answers} refused={refused} onChange={setFields} /> : null}
      {form.options.length > 0 ? <OptionsField form={form} chosen={options} refused={refused} onChange={setOptions} /> : null}
      <TextInput label={a.note} hideLabel={false} value={note} onInput={setNote} />
    </div>
  );
}

function OptionsField({ form, chosen, refused, onChange }: { form: AnswerForm; chosen: readonly string[]; refused: Problem | null; onChange: (chosen: readonly string[]) => void }) {
  const toggle = (option: string) => {
    if (!form.multiple) return onChange([option]);
    return onChange(chosen.includes(option) ? chosen.filter((each) => each !== option) : [...chosen, option]);
  };
  return (
    <fieldset class="params answer-options">
      <legend class="param-name">{a.options} <span class="soft small">{form.multiple ? a.someOptions : a.oneOption}</span></legend>
      {form.options.map((option) => (
        <label key={option} class="row"><input type={form.multiple ? "checkbox" : "radio"} name="answer-option" checked={chosen.includes(option)} onChange={() => toggle(option)} /><span class="wrap"><Data text={option} limit={300} /></span></label>
      ))}
      {refused?.field === "options" ? <span class="field-error" role="alert"><Data text={refused.message} limit={600} /></span> : null}
    </fieldset>
  );
}
