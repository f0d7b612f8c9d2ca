/** The causes of a state: the sentence, since when, the remedy, and the command. */
import { useState } from "preact/hooks";
import { Button, CommandLine } from "../../components/basics.tsx";
import { Data } from "../../components/data.tsx";
import { Ago } from "../../components/time.tsx";
import { ToneMark } from "../../components/tone.tsx";
import type { Cause, Tone } from "../../contract.ts";
import { r } from "../../texts/run.en.ts";

const SHOWN = 1;
/** How the urgency of a cause looks, which the server decides on. */
const TONES: Record<string, Tone> = { act: "warn", wait: "wait", done: "idle" };

export function Why({ causes, shown = SHOWN }: { causes: Cause[]; shown?: number }) {
  const [all, setAll] = useState(false);
  const visible = all ? causes : causes.slice(0, shown);
  const hidden = causes.length - visible.length;
  return (
    <div class="why">
      {causes.length === 0 ? <p class="soft">{r.whyNothing}</p> : null}
      {visible.map((cause, index) => <CauseBox key={`${index} ${cause.subject}`} cause={cause} />)}
      {hidden > 0 ? <Button kind="quiet" icon="down" label={r.moreCauses(hidden)} onClick={() => setAll(true)} /> : null}
      {all && causes.length > shown ? <Button kind="quiet" icon="up" label={r.fewerCauses} onClick={() => setAll(false)} /> : null}
    </div>
  );
}

export function CauseBox({ cause }: { cause: Cause }) {
  return (
    <div class="cause">
      <p class="cause-sentence wrap"><span class="cause-icon"><ToneMark tone={TONES[cause.urgency ?? ""] ?? "idle"} size={13} /></span><Data text={cause.sentence} limit={2000} />{cause.since === null ? null : <span class="soft"> · <Ago at={cause.since} /></span>}</p>
      {cause.details?.length ? <ul class="cause-details">{cause.details.map((detail) => <li class="wrap"><Data text={detail} limit={1000} /></li>)}</ul> : null}
      {cause.remedy || cause.command ? (
        <div class="row fold cause-remedy">
          {cause.remedy ? <span class="wrap"><Data text={cause.remedy} limit={1000} /></span> : null}
          {cause.command ? <CommandLine command={cause.command} /> : null}
        </div>
      ) : null}
    </div>
  );
}
