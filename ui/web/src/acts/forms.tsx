/** The fields of acts that need more than a confirmation. Each tells the dialog what it adds to the request; null: not yet. */
import { useEffect, useState } from "preact/hooks";
import { Loading, ProblemBox, Select, TextInput } from "../components/basics.tsx";
import type { Problem, Template } from "../contract.ts";
import { asProblem, getJson, queryOf } from "../core/api.ts";
import { session } from "../core/session.ts";
import { a } from "../texts/acts.en.ts";
import { AnswerFields } from "./answer_form.tsx";
import { ParamForm } from "./param_form.tsx";
import { inferParams, type Param } from "./params.ts";
import type { ActRequest } from "./request.ts";

export interface FormProps { request: ActRequest; refused: Problem | null; onChange: (extra: Record<string, unknown> | null) => void }

export function ActForm(props: FormProps) {
  switch (props.request.act) {
    case "mark": return <MarkForm {...props} />;
    case "backfill": return <BackfillForm {...props} />;
    case "submit": return <SubmitForm {...props} />;
    case "resubmit": return <ResubmitForm {...props} />;
    case "approve": return props.request.form ? <AnswerFields form={props.request.form} refused={props.refused} onChange={props.onChange} /> : <NoteForm {...props} />;
    default: return <NoteForm {...props} />;
  }
}

function NoteForm({ onChange }: FormProps) {
  const [note, setNote] = useState("");
  useEffect(() => onChange(note.trim() === "" ? {} : { note: note.trim() }), [note]);
  return <TextInput label={a.note} hideLabel={false} value={note} onInput={setNote} />;
}

function MarkForm({ onChange }: FormProps) {
  const [state, setState] = useState("succeeded");
  const [because, setBecause] = useState("");
  useEffect(() => onChange(because.trim() === "" ? null : { state, because: because.trim() }), [state, because]);
  return (
    <div class="stack">
      <Select label={a.state} hideLabel={false} value={state} onChange={setState} options={Object.entries(a.states).map(([value, label]) => ({ value, label }))} />
      <TextInput label={a.because} hideLabel={false} value={because} onInput={setBecause} />
      <p class="soft small">{a.becauseHelp}</p>
    </div>
  );
}

function BackfillForm({ onChange }: FormProps) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [rerun, setRerun] = useState("missing");
  const [concurrency, setConcurrency] = useState("1");
  useEffect(() => {
    const many = Number(concurrency);
    const complete = from !== "" && to !== "" && from < to && Number.isInteger(many) && many >= 1;
    onChange(complete ? { from: new Date(from).toISOString(), to: new Date(to).toISOString(), rerun, concurrency: many } : null);
  }, [from, to, rerun, concurrency]);
  return (
    <div class="form-grid">
      <TextInput type="datetime-local" label={a.from} hideLabel={false} value={from} onInput={setFrom} />
      <TextInput type="datetime-local" label={a.to} hideLabel={false} value={to} onInput={setTo} />
      <Select label={a.rerun} hideLabel={false} value={rerun} onChange={setRerun} options={Object.entries(a.reruns).map(([value, label]) => ({ value, label }))} />
      <TextInput type="number" label={a.concurrency} hideLabel={false} value={concurrency} onInput={setConcurrency} />
    </div>
  );
}

function useTemplates(namespaces: string[]): { templates: Template[] | null; problem: Problem | null } {
  const [templates, setTemplates] = useState<Template[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    getJson<Template[]>(`api/templates${queryOf({ ns: namespaces.join(",") })}`, stop.signal).then(setTemplates, (error: unknown) => (stop.signal.aborted ? undefined : setProblem(asProblem(error))));
    return () => stop.abort();
  }, [namespaces.join(",")]);
  return { templates, problem };
}

function SubmitForm({ request, onChange }: FormProps) {
  const { templates, problem } = useTemplates(request.namespaces ?? session.value?.defaultNamespaces ?? []);
  const [chosen, setChosen] = useState("");
  if (problem) return <ProblemBox problem={problem} />;
  if (templates === null) return <Loading />;
  const key = (each: Template) => `${each.namespace}/${each.name}`;
  const template = templates.find((each) => key(each) === chosen) ?? templates[0];
  if (template === undefined) return <p class="soft">{a.noTemplates}</p>;
  const changed = (params: Record<string, unknown> | null) => onChange(params === null ? null : { namespace: template.namespace, template: template.name, params });
  return (
    <div class="stack wide">
      <Select label={a.template} hideLabel={false} value={key(template)} onChange={setChosen} options={templates.map((each) => ({ value: key(each), label: templates.every((other) => other.namespace === each.namespace) ? each.name : key(each) }))} />
      {template.description ? <p class="soft wrap">{template.description}</p> : null}
      <ParamForm key={key(template)} params={template.params as Param[]} given={request.params ?? {}} onChange={changed} />
    </div>
  );
}

/** The params of the earlier run; typed by its template if it still has one that the caller may read. */
function ResubmitForm({ request, onChange }: FormProps) {
  const given = request.params ?? {};
  const { templates, problem } = useTemplates(request.template ? [request.template.namespace] : []);
  if (request.template && templates === null && problem === null) return <Loading />;
  const template = templates?.find((each) => each.name === request.template?.name && each.namespace === request.template.namespace);
  const params = (template?.params as Param[] | undefined) ?? inferParams(given);
  return <ParamForm params={params} given={given} onChange={(values) => onChange(values === null ? null : { params: values })} />;
}
