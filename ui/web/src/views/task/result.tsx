/** The result of an instance: a table, a tree, text or an image. A large one is shown when asked for. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button, Loading, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { JsonTree } from "../../components/json_tree.tsx";
import { Table } from "../../components/table.tsx";
import type { Problem, TaskDetail } from "../../contract.ts";
import { plain } from "../../core/characters.ts";
import { asProblem, getBody } from "../../core/api.ts";
import { serverUrl } from "../../core/base.ts";
import { size } from "../../core/numbers.ts";
import { taskApi } from "../../core/run_store.ts";
import { k } from "../../texts/task.en.ts";
import { kinds, parsed, tableOf, type Kind, type TableData } from "./result_kinds.ts";

const BY_ITSELF = 1024 * 1024;
const TEXT_LIMIT = 400_000;

export function Result({ run, detail }: { run: string; detail: TaskDetail }) {
  const { result } = detail;
  const inline = result.where === "inline" && result.inline !== undefined;
  const [asked, setAsked] = useState(result.size <= BY_ITSELF);
  const [body, setBody] = useState<{ type: string; text: string | null } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const path = `${taskApi(run, detail.key)}/result`;
  useEffect(() => {
    if (inline || !asked || !result.present) return undefined;
    const controller = new AbortController();
    getBody(`${path}?show=1`, controller.signal).then(setBody, (error: unknown) => (controller.signal.aborted ? undefined : setProblem(asProblem(error))));
    return () => controller.abort();
  }, [path, asked, result.size]);
  if (!result.present) return <p class="soft panel-text">{k.noResult}</p>;
  return (
    <div class="result">
      <div class="row fold"><span class="soft"><Data text={result.name || result.type} limit={200} /> · {size(result.size)}</span><span class="grow" /><a class="button" href={serverUrl(path)} download="result"><Icon name="download" size={14} />{k.download}</a></div>
      {problem ? <ProblemBox problem={problem} /> : null}
      {inline ? <Shown value={result.inline} text={JSON.stringify(result.inline, null, 2)} />
        : !asked ? <p class="soft">{k.resultLarge(size(result.size))} <Button label={k.showAnyway} onClick={() => setAsked(true)} /></p>
        : body === null ? (problem ? null : <Loading />)
        : body.type.startsWith("image/") ? <img class="result-image" src={serverUrl(`${path}?show=1`)} alt={k.imageAlt(plain(detail.label))} />
        : body.text === null ? <p class="soft">{k.bytes}</p> : <Parsed text={body.text} name={result.name ?? ""} />}
    </div>
  );
}

function Parsed({ text, name }: { text: string; name: string }) {
  const value = useMemo(() => parsed(text, name), [text, name]);
  return <Shown value={value} text={text} />;
}

function Shown({ value, text }: { value: unknown; text: string }) {
  const table = useMemo(() => tableOf(value), [value]);
  const possible = kinds(value, table !== null);
  const [chosen, setChosen] = useState<Kind | null>(null);
  const kind = chosen !== null && possible.includes(chosen) ? chosen : possible[0];
  return (
    <>
      {possible.length > 1 ? <div class="button-group" role="group" aria-label={k.shownAs}>{possible.map((each) => <Button key={each} label={k.as[each]} pressed={each === kind} onClick={() => setChosen(each)} />)}</div> : null}
      {kind === "table" && table ? <ResultTable table={table} /> : kind === "tree" ? <JsonTree value={value} /> : <pre class="code"><Data text={text} limit={TEXT_LIMIT} /></pre>}
      {kind === "text" && text.length > TEXT_LIMIT ? <p class="soft">{k.cutAt(size(TEXT_LIMIT))}</p> : null}
    </>
  );
}

function ResultTable({ table }: { table: TableData }) {
  const rows = useMemo(() => table.rows.map((_, index) => index), [table]);
  const columns = table.columns.map((name, column) => ({ id: name, title: name, width: "minmax(90px, 1fr)", cell: (row: number) => <Data text={table.rows[row]?.[column]} limit={300} /> }));
  return <div class="result-table"><Table label={k.as.table} rows={rows} columns={columns} rowKey={(row) => String(row)} /></div>;
}
