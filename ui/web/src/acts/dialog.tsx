/** The dialog of an act: what it asks for, what it will do, the command that does the same, and what came of it. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, CommandLine, Loading, ProblemBox } from "../components/basics.tsx";
import { Data } from "../components/data.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icons.tsx";
import type { Acted, Preview, Problem } from "../contract.ts";
import { asProblem, send } from "../core/api.ts";
import { href, navigate, runPath } from "../core/router.ts";
import { a } from "../texts/acts.en.ts";
import { isShown } from "./answers.ts";
import { ActForm } from "./forms.tsx";
import { DANGEROUS, WITH_FORM, type ActRequest } from "./request.ts";

const TYPING_PAUSE = 350;
let host: HTMLElement | null = null;

export function showDialog(request: ActRequest): void {
  const before = document.activeElement;
  host ??= document.body.appendChild(document.createElement("div"));
  const target = host;
  const close = () => {
    render(null, target);
    if (before instanceof HTMLElement) before.focus();
  };
  render(<ActDialog request={request} onClose={close} />, target);
}

function ActDialog({ request, onClose }: { request: ActRequest; onClose: () => void }) {
  // What the form adds to the request; null while something in it is missing or wrong.
  const [extra, setExtra] = useState<Record<string, unknown> | null>(WITH_FORM.has(request.act) ? null : {});
  const [acted, setActed] = useState<Acted | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const { preview, refused } = usePreview(request, extra);
  const texts = a.acts[request.act];
  const blocked = extra === null || preview === null ? a.wait : preview.allowed ? undefined : preview.reason;
  const run = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setActed(await send<Acted>("POST", `api/acts/${request.act}`, { ...request.body, ...extra }));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  const footer = acted !== null ? <DoneFooter acted={acted} onClose={onClose} /> : (
    <>
      <Button kind="quiet" label={a.cancel} onClick={onClose} />
      <Button kind={DANGEROUS.has(request.act) ? "danger" : "primary"} label={texts.confirm} disabled={busy ? a.wait : blocked} onClick={() => void run()} />
    </>
  );
  return (
    <Dialog title={request.subject ? `${texts.title}: ${request.subject}` : texts.title} onClose={onClose} footer={footer} kind={request.act === "submit" || request.act === "resubmit" ? "wide" : "plain"}>
      <div class="stack wide" onKeyDown={(event) => (isConfirmed(event) && acted === null && !busy && blocked === undefined ? void run() : undefined)}>
        {acted !== null ? <Outcome acted={acted} /> : (
          <>
            {WITH_FORM.has(request.act) ? <ActForm request={request} refused={refused} onChange={setExtra} /> : null}
            {refused ? isShown(request.form, refused.field) ? null : <ProblemBox problem={refused} /> : <Effects act={request.act} preview={preview} asked={extra !== null} />}
            {problem ? <ProblemBox problem={problem} /> : null}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Enter in a field of one line confirms, as in every form. */
function isConfirmed(event: KeyboardEvent): boolean {
  return event.key === "Enter" && !event.isComposing && event.target instanceof HTMLInputElement;
}

/** Asks the server what the act would do, each time the request has changed and nobody has typed for a moment. */
function usePreview(request: ActRequest, extra: Record<string, unknown> | null): { preview: Preview | null; refused: Problem | null } {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [refused, setRefused] = useState<Problem | null>(null);
  const asked = useRef(0);
  const body = extra === null ? null : JSON.stringify({ ...request.body, ...extra });
  useEffect(() => {
    const number = (asked.current += 1);
    setPreview(null);
    setRefused(null);
    if (body === null) return undefined;
    const timer = setTimeout(() => {
      send<Preview>("POST", `api/acts/${request.act}/preview`, JSON.parse(body)).then(
        (answer) => (number === asked.current ? setPreview(answer) : undefined),
        (error: unknown) => (number === asked.current ? setRefused(asProblem(error)) : undefined),
      );
    }, WITH_FORM.has(request.act) ? TYPING_PAUSE : 0);
    return () => clearTimeout(timer);
  }, [body]);
  return { preview, refused };
}

const SHOWN = 50;

function Effects({ act, preview, asked }: { act: string; preview: Preview | null; asked: boolean }) {
  if (!asked) return <p class="soft">{act === "backfill" ? a.fillPeriod : act === "mark" ? a.fillWhy : act === "approve" ? a.fillAnswers : null}</p>;
  if (preview === null) return <Loading label={a.wait} />;
  return (
    <>
      <section class="stack" aria-live="polite">
        <h3>{a.will}</h3>
        {preview.effects.length === 0 ? <p class="soft">{a.nothing}</p> : null}
        <ul class="effects">{preview.effects.slice(0, SHOWN).map((effect) => <li class="wrap"><Data text={effect} limit={2000} /></li>)}</ul>
        {preview.effects.length > SHOWN ? <p class="soft">+{preview.effects.length - SHOWN}</p> : null}
        {preview.warnings.map((warning) => <p class="act-warning wrap"><Icon name="warn" size={14} /><Data text={warning} limit={2000} /></p>)}
        {preview.allowed ? null : <p class="act-warning wrap"><Icon name="warn" size={14} /><Data text={preview.reason} limit={2000} /></p>}
      </section>
      {preview.command ? <section class="stack"><h3>{a.sameCommand}</h3><CommandLine command={preview.command} /></section> : null}
    </>
  );
}

function Outcome({ acted }: { acted: Acted }) {
  return (
    <section class="stack" role="status">
      {acted.done.length > 0 ? <h3 class="row"><span class="tone-mark tone-ok"><Icon name="check" /></span>{a.done}</h3> : null}
      <ul class="effects">{acted.done.slice(0, SHOWN).map((line) => <li class="wrap"><Data text={line} limit={2000} /></li>)}</ul>
      {acted.failed.length > 0 ? <h3 class="row"><span class="tone-mark tone-bad"><Icon name="cross" /></span>{a.failed(acted.failed.length)}</h3> : null}
      <ul class="effects">{acted.failed.slice(0, SHOWN).map((each) => <li class="wrap"><span class="strong"><Data text={each.key} /></span> <Data text={each.message} limit={2000} /></li>)}</ul>
    </section>
  );
}

function DoneFooter({ acted, onClose }: { acted: Acted; onClose: () => void }) {
  const { created } = acted;
  const open = () => {
    onClose();
    if (created) navigate(href(runPath(created)));
  };
  return (
    <>
      <Button kind={created ? "quiet" : "primary"} label={a.close} onClick={onClose} />
      {created ? <Button kind="primary" label={a.open} onClick={open} /> : null}
    </>
  );
}
