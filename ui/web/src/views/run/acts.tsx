/** The buttons that change a run: what the run needs now, and the rest in a menu. */
import { accessOf } from "../../acts/access.ts";
import { ActButton } from "../../acts/button.tsx";
import { openAct } from "../../acts/open.ts";
import { refusal, type ActRequest } from "../../acts/request.ts";
import { plain } from "../../core/characters.ts";
import { useCommands } from "../../core/commands.ts";
import { session } from "../../core/session.ts";
import { Popover } from "../../shell/popover.tsx";
import type { ActName } from "../../contract.ts";
import { a } from "../../texts/acts.en.ts";
import { t } from "../../texts.en.ts";
import type { RunViewProps } from "./tabs.ts";

const ALL: readonly ActName[] = ["retry", "resubmit", "suspend", "resume", "stop", "cancel", "delete"];

export function RunActs({ store }: RunViewProps) {
  const head = store.head.value;
  const access = accessOf(head?.namespace, store.acts.value);
  const readOnly = session.value?.readOnly ?? false;
  const request = (act: ActName): ActRequest => ({
    act, subject: head?.name ?? "", body: { runs: [store.key] }, params: head?.params,
    template: head?.template ? { namespace: head.namespace, name: head.template } : undefined,
  });
  const offered = ALL.filter((act) => act !== (head?.suspended ? "suspend" : "resume"));
  useCommands(
    offered.map((act) => ({ id: `act-${act}`, title: `${a.acts[act].button}: ${a.acts[act].title}`, group: t.groups.view, run: () => void openAct(request(act)), ...disabled(refusal(access, act, readOnly)) })),
    [store.key, access, head?.suspended, readOnly],
  );
  if (head === null) return null;
  return (
    <div class="row run-acts">
      <ActButton request={request("retry")} access={access} icon="refresh" />
      <ActButton request={request("resubmit")} access={access} icon="plus" />
      <Popover label={a.more} icon="more" iconOnly kind="plain">
        {(close) => (
          <div class="menu-list">
            {offered.slice(2).map((act) => {
              const reason = refusal(access, act, readOnly);
              const run = () => {
                close();
                void openAct(request(act));
              };
              return (
                <button key={act} type="button" class="menu-item" aria-disabled={reason ? true : undefined} title={reason ? plain(reason) : undefined} onClick={() => (reason ? undefined : run())}>
                  <span>{a.acts[act].button}</span><span class="soft small grow end">{reason ? plain(reason) : a.acts[act].title}</span>
                </button>
              );
            })}
          </div>
        )}
      </Popover>
    </div>
  );
}

function disabled(reason: string | undefined): { disabled?: string } {
  return reason === undefined ? {} : { disabled: reason };
}
