/** The overview of an instance: why, the last lines, what it waits for, its attempts, arguments and links. */
import type { ComponentChildren } from "preact";
import { Facts, Panel } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { JsonTree } from "../../components/json_tree.tsx";
import { Duration, Moment } from "../../components/time.tsx";
import type { AttemptDetail, ChildRun, Link, SegmentDetail, TaskDetail, TriggerDetail } from "../../contract.ts";
import { href, hrefWith, runPath } from "../../core/router.ts";
import { k } from "../../texts/task.en.ts";
import { l } from "../../texts/timeline.en.ts";
import { Why } from "../run/why.tsx";
import { LastLines } from "./logs.tsx";

export function Overview({ run, detail }: { run: string; detail: TaskDetail }) {
  return (
    <div class="stack wide panel-scroll">
      {detail.why.length > 0 ? <Panel title={k.why}><Why causes={detail.why} shown={3} /></Panel> : null}
      <Panel title={k.lastLines} actions={<a class="button quiet" href={hrefWith({ part: "logs" })}>{k.allLogs}</a>}><LastLines run={run} instance={detail.key} /></Panel>
      {detail.childRun ? <Panel title={k.childRun}><ChildRunLink run={detail.childRun} /></Panel> : null}
      {detail.trigger ? <Panel title={k.wait}><TriggerFacts trigger={detail.trigger} due={detail.waitUntil} /></Panel> : null}
      <Panel title={k.attempts}>{detail.attempts.length === 0 ? <p class="soft">{k.noAttempts}</p> : detail.attempts.map((attempt) => <Attempt key={attempt.attempt} attempt={attempt} alone={detail.attempts.length === 1} />)}</Panel>
      {filled(detail.args) ? <Panel title={k.args}><JsonTree value={detail.args} /></Panel> : null}
      {filled(detail.event) ? <Panel title={k.event}><JsonTree value={detail.event} /></Panel> : null}
      {detail.links?.length ? <Panel title={k.links}><ul class="stack">{detail.links.map((link) => <li><SafeLink link={link} /></li>)}</ul></Panel> : null}
    </div>
  );
}

function filled(value: unknown): boolean {
  return value !== null && value !== undefined && !(typeof value === "object" && Object.keys(value).length === 0);
}

type Fact = [string, ComponentChildren];

function TriggerFacts({ trigger, due }: { trigger: TriggerDetail; due: number | null }) {
  return (
    <div class="stack">
      <Facts facts={[[k.trigger, <span class="mono"><Data text={trigger.class} limit={300} /></span>], ...(trigger.waitsFor ? [[k.waitsFor, <Data text={trigger.waitsFor} limit={600} />] as Fact] : []), [k.due, <Moment at={due} />], [k.deadline, <Moment at={trigger.deadline} />], [k.pool, <Data text={trigger.pool} />], [k.shard, String(trigger.shard ?? "–")]]} />
      {filled(trigger.kwargs) ? <JsonTree value={trigger.kwargs} /> : null}
    </div>
  );
}

/** A link to the run that the task has started, or to the list of runs with its name. */
function ChildRunLink({ run }: { run: ChildRun }) {
  const target = run.key === null ? href("runs", { text: run.name }) : href(runPath(run.key));
  return <a class="mono wrap" href={target}><Data text={run.name} limit={260} /></a>;
}

function Attempt({ attempt, alone }: { attempt: AttemptDetail; alone: boolean }) {
  return (
    <section class="attempt">
      {alone ? null : <h3>{k.attempt(attempt.attempt)}</h3>}
      <ol class="segments">{attempt.segments.map((segment, index) => <Segment key={index} segment={segment} />)}</ol>
    </section>
  );
}

function Segment({ segment }: { segment: SegmentDetail }) {
  const parts = segment.intervals ?? [];
  return (
    <li class="segment">
      <span class={`phase-mark phase-${segment.phase.replace(" ", "-")}`} />
      <div class="grow stack segment-text">
        <div class="row"><span class="grow clip">{k.segment(segment.segment, segment.launch)}{segment.pod ? <> · <span class="mono"><Data text={segment.pod} limit={260} /></span></> : null}</span><span class="strong"><Duration seconds={length(segment.start, segment.end)} since={segment.start} /></span></div>
        <div class="soft small row fold segment-facts"><Moment at={segment.start} />{segment.node ? <span><Data text={segment.node} limit={260} /></span> : null}{segment.reason ? <span><Data text={segment.reason} limit={200} /></span> : null}</div>
        {segment.message ? <div class="small wrap"><Data text={segment.message} limit={1000} /></div> : null}
        {parts.length > 1 ? (
          <ul class="segment-parts small">{parts.map((part) => (
            <li class="row"><span class={`phase-mark phase-${part.phase.replace(" ", "-")}`} /><span>{l.phases[part.phase] ?? part.phase}</span><span class="soft clip grow mono">{part.phase === "waiting" ? <Data text={part.detail} limit={200} /> : null}</span><Duration seconds={length(part.start, part.end)} since={part.start} /></li>
          ))}</ul>
        ) : null}
      </div>
    </li>
  );
}

function length(start: number | null, end: number | null): number | null {
  return start === null || end === null ? null : end - start;
}

/** A link that a task gave: opened only over HTTP, without telling the other page about this one. */
function SafeLink({ link }: { link: Link }) {
  const title = link.title || link.text || link.url;
  const safe = /^https?:\/\//i.test(link.url);
  return safe ? <a href={link.url} target="_blank" rel="noopener noreferrer external"><Data text={title} limit={300} /></a> : <Data text={`${title} ${link.url}`} limit={300} />;
}
