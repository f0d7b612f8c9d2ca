/** The view Inbox: the tasks that wait for a person, with the question and the two answers. */
import { ActButton } from "../../acts/button.tsx";
import { Empty, Loading, ProblemBox } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Ago } from "../../components/time.tsx";
import type { Approval } from "../../contract_lists.ts";
import { queryOf } from "../../core/api.ts";
import { usePolled } from "../../core/polled.ts";
import { href, runPath } from "../../core/router.ts";
import { namespaces } from "../../core/session.ts";
import { i } from "../../texts/lists.en.ts";

export default function Inbox() {
  const { value, problem, again } = usePolled<Approval[]>(`api/approvals${queryOf({ ns: namespaces.value.join(",") })}`, 10);
  if (value === null) return problem ? <div class="page-pad"><ProblemBox problem={problem} onRetry={again} /></div> : <Loading />;
  if (value.length === 0) return <Empty title={i.empty}><p>{i.emptyHelp}</p></Empty>;
  return (
    <div class="page-pad scroll inbox">
      <h1>{i.count(value.length)}</h1>
      {problem ? <ProblemBox problem={problem} onRetry={again} /> : null}
      <ul class="stack wide">{value.map((approval) => <li key={`${approval.run} ${approval.key}`}><Question approval={approval} /></li>)}</ul>
    </div>
  );
}

function Question({ approval }: { approval: Approval }) {
  const name = approval.runName ?? approval.run.split("/").at(-1) ?? "";
  const access = { approve: { allowed: approval.mayAnswer, reason: approval.reason }, reject: { allowed: approval.mayAnswer, reason: approval.reason } };
  const body = { runs: [approval.run], tasks: [approval.key] };
  const title = approval.subject || approval.question;
  return (
    <article class="panel approval">
      <div class="stack grow">
        <h2 class="wrap">{title ? <Data text={title} limit={2000} /> : i.noQuestion}</h2>
        {approval.subject && approval.question ? <p class="wrap"><Data text={approval.question} limit={2000} /></p> : null}
        {approval.form ? <p class="small soft wrap">{i.asksFor}: <Data text={[...approval.form.fields.map((field) => field.name), ...(approval.form.options.length > 0 ? [i.choiceOf(approval.form.options.join(", "), approval.form.multiple)] : [])].join(", ")} limit={1000} /></p> : null}
        <div class="row fold small soft">
          <span><a href={href(runPath(approval.run), { task: approval.key })} title={i.show}><Data text={name} limit={253} /> / <Data text={approval.task} limit={120} /></a></span>
          <span><Data text={approval.namespace} /></span>
          <span>{i.since} <Ago at={approval.since} /></span>
          <span>{approval.deadline === null ? i.noDeadline : <>{i.deadline} <Ago at={approval.deadline} /></>}</span>
        </div>
        <div class="small soft wrap">{i.approvers}: {approval.approvers.length === 0 ? i.anybody : <Data text={approval.approvers.join(", ")} limit={1000} />}</div>
        {approval.lastAnswer ? <p class="small wrap act-warning"><Data text={approval.lastAnswer} limit={1000} /></p> : null}
        {approval.mayAnswer ? null : <p class="small wrap"><Data text={approval.reason} limit={1000} /></p>}
      </div>
      <div class="row">
        <ActButton request={{ act: "reject", subject: `${name} / ${approval.task}`, body }} access={access} icon="cross" />
        <ActButton request={{ act: "approve", subject: `${name} / ${approval.task}`, body, form: approval.form }} access={access} icon="check" kind="primary" />
      </div>
    </article>
  );
}
