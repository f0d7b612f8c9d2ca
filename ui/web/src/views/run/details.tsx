/** The details of a run: params, labels, conditions, history and YAML. */
import { useState } from "preact/hooks";
import { Button, Facts, Panel, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Icon } from "../../components/icons.tsx";
import { JsonTree } from "../../components/json_tree.tsx";
import { Moment } from "../../components/time.tsx";
import type { Problem } from "../../contract.ts";
import { asProblem, getText } from "../../core/api.ts";
import { serverUrl } from "../../core/base.ts";
import { runApi } from "../../core/run_store.ts";
import { k } from "../../texts/task.en.ts";
import { r } from "../../texts/run.en.ts";
import type { RunViewProps } from "./tabs.ts";

export default function Details({ store }: RunViewProps) {
  const head = store.head.value;
  if (head === null) return null;
  const params = Object.keys(head.params ?? {}).length > 0;
  const labels = Object.entries(head.labels ?? {});
  return (
    <div class="details scroll">
      <Panel title={r.params}>{params ? <JsonTree value={head.params} /> : <p class="soft">{r.noParams}</p>}</Panel>
      <Panel title={r.conditions}>
        <ul class="stack">{head.conditions?.length ? null : <li class="soft">{r.noConditions}</li>}{(head.conditions ?? []).map((each) => (
          <li class="wrap"><span class="strong"><Data text={each.type} /></span> <Data text={each.status} /> <span class="soft"><Data text={each.reason} /></span> <Data text={each.message} /></li>
        ))}</ul>
      </Panel>
      <Panel title={r.history}>
        {(head.history ?? []).length === 0 ? <p class="soft">{r.noHistory}</p> : (
          <ol class="event-list">{head.history.map((each) => (
            <li><span class="soft"><Moment at={each.at} /></span><div class="wrap"><span class="strong"><Data text={each.type} /></span> <Data text={each.state} /> {each.by ? <span class="soft"><Data text={each.by} limit={300} /></span> : null}{each.message ? <div class="small"><Data text={each.message} limit={1500} /></div> : null}</div></li>
          ))}</ol>
        )}
      </Panel>
      <Panel title={r.labels}>{labels.length === 0 ? <p class="soft">{r.noLabels}</p> : <Facts facts={labels.map(([name, value]) => [name, <Data text={value} />])} />}</Panel>
      <YamlPanel path={`${runApi(store.key)}/yaml`} />
    </div>
  );
}

/** YAML that is fetched when asked for. */
function YamlPanel({ path }: { path: string }) {
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const load = () => getText(path).then(setText, (error: unknown) => setProblem(asProblem(error)));
  return (
    <div class="details-wide"><Panel title={r.yaml} actions={text === null ? <Button label={r.showYaml} onClick={() => void load()} /> : <a class="button" href={serverUrl(path)} download="run.yaml"><Icon name="download" size={14} />{k.download}</a>}>
      {problem ? <ProblemBox problem={problem} onRetry={() => void load()} /> : null}
      {text === null ? null : <pre class="code"><Data text={text} limit={400_000} /></pre>}
    </Panel></div>
  );
}
