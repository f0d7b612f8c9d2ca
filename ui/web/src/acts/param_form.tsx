/** A form of typed params: a field each, with its description, default and what is wrong with it. */
import { useEffect, useState } from "preact/hooks";
import { Data } from "../components/data.tsx";
import type { Problem } from "../contract.ts";
import { plain } from "../core/characters.ts";
import { a } from "../texts/acts.en.ts";
import { fieldKind, initialText, parseForm, textOf, type Param } from "./params.ts";

/** `refused`: what the server says of one field. */
export interface ParamFormProps { params: readonly Param[]; given: Readonly<Record<string, unknown>>; legend?: string; refused?: Problem | null; onChange: (values: Record<string, unknown> | null) => void }

export function ParamForm({ params, given, legend = a.params, refused = null, onChange }: ParamFormProps) {
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(params.map((param) => [param.name, initialText(param, given)])));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const { values, problems } = parseForm(params, texts);
  useEffect(() => onChange(Object.keys(problems).length === 0 ? values : null), [JSON.stringify(texts)]);
  const change = (name: string, text: string) => {
    setTexts({ ...texts, [name]: text });
    setTouched(new Set([...touched, name]));
  };
  if (params.length === 0) return <p class="soft">{a.noParams}</p>;
  return (
    <fieldset class="params">
      <legend class="sr">{legend}</legend>
      {params.map((param) => (
        <ParamField key={param.name} param={param} text={texts[param.name] ?? ""} problem={refused?.field === param.name ? refused.message : touched.has(param.name) || problems[param.name] !== "required" ? problems[param.name] : undefined} onChange={(text) => change(param.name, text)} />
      ))}
    </fieldset>
  );
}

interface ParamFieldProps { param: Param; text: string; problem: string | undefined; onChange: (text: string) => void }

function ParamField({ param, text, problem, onChange }: ParamFieldProps) {
  const id = `param-${param.name}`;
  const help = helpOf(param);
  return (
    <div class="param">
      <label for={id} class="param-name"><span class="mono"><Data text={param.name} /></span> <span class="soft small">{param.type}{param.required ? `, ${a.required}` : ""}</span></label>
      <div class="stack param-value">
        <ParamInput id={id} param={param} text={text} problem={problem} onChange={onChange} />
        {problem ? <span class="field-error" id={`${id}-problem`} role="alert"><Data text={a.problems[problem] ?? problem} limit={600} /></span> : null}
        {help ? <span class="soft small wrap" id={`${id}-help`}><Data text={help} limit={1200} /></span> : null}
      </div>
    </div>
  );
}

function ParamInput({ id, param, text, problem, onChange }: ParamFieldProps & { id: string }) {
  const kind = fieldKind(param);
  const shared = { id, "aria-invalid": problem ? true : undefined, "aria-describedby": `${id}-help ${id}-problem` };
  if (kind === "choice" || kind === "switch") {
    const options = kind === "switch" ? ["true", "false"] : (param.enum ?? []).map(textOf);
    return (
      <select {...shared} value={text} onChange={(event) => onChange(event.currentTarget.value)}>
        {param.required && text !== "" ? null : <option value="">{a.unset}</option>}
        {options.map((option) => <option key={option} value={option}>{plain(option)}</option>)}
      </select>
    );
  }
  if (kind === "json") return <textarea {...shared} class="mono" rows={param.type === "object" ? 4 : 2} spellcheck={false} value={text} onInput={(event) => onChange(event.currentTarget.value)} />;
  return <span class="input"><input {...shared} type="text" inputMode={kind === "number" ? "decimal" : "text"} spellcheck={false} autocomplete="off" value={text} onInput={(event) => onChange(event.currentTarget.value)} /></span>;
}

function helpOf(param: Param): string {
  const parts = [param.description ?? "", param.pattern ? a.pattern(param.pattern) : "", a.limits(param.type === "string", param.min, param.max), param.default === undefined || param.default === null ? "" : a.byDefault(textOf(param.default))];
  return parts.filter((part) => part !== "").join(" · ");
}
