/** The history of an instance, and the events of its pods. */
import { Panel } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Moment } from "../../components/time.tsx";
import type { HistoryEvent, PodEvent, TaskDetail } from "../../contract.ts";
import { k } from "../../texts/task.en.ts";

export function Events({ detail }: { detail: TaskDetail }) {
  return (
    <div class="stack wide panel-scroll">
      <Panel title={k.history}>{detail.history.length === 0 ? <p class="soft">{k.noHistory}</p> : <ol class="event-list">{detail.history.map((each) => <HistoryLine event={each} />)}</ol>}</Panel>
      <Panel title={k.podEvents}>{detail.podEvents.length === 0 ? <p class="soft">{k.noPodEvents}</p> : <ol class="event-list">{detail.podEvents.map((each) => <PodLine event={each} />)}</ol>}</Panel>
    </div>
  );
}

function HistoryLine({ event }: { event: HistoryEvent }) {
  return (
    <li><span class="soft"><Moment at={event.at} /></span>
      <div class="wrap"><span class="strong"><Data text={event.state} limit={80} /></span> {event.reason ? <Data text={event.reason} limit={100} /> : null} <span class="soft small">{k.attempt(event.attempt)}, {k.segment(event.segment, event.launch ?? 0)}</span>
        {event.pod || event.trigger ? <div class="mono small soft"><Data text={event.pod || event.trigger} limit={260} /></div> : null}
        {event.message ? <div class="small"><Data text={event.message} limit={1000} /></div> : null}
      </div>
    </li>
  );
}

function PodLine({ event }: { event: PodEvent }) {
  return (
    <li><span class="soft"><Moment at={event.time} /></span>
      <div class="wrap"><span class={`strong${event.type === "Warning" ? " warning-text" : ""}`}><Data text={event.reason} limit={100} /></span>{event.count > 1 ? <span class="soft small"> {k.repeated(event.count)}</span> : null} <Data text={event.message} limit={1500} />
        <div class="mono small soft"><Data text={event.pod} limit={260} /></div>
      </div>
    </li>
  );
}
