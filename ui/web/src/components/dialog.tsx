/** A modal dialog: the browser's own, which keeps the focus inside and closes on Escape.
 * It takes the focus before the next key is handled: an effect after the paint would lose what is typed until then. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../texts.en.ts";
import { Button } from "./basics.tsx";

export interface DialogProps { title: string; onClose: () => void; children: ComponentChildren; footer?: ComponentChildren; kind?: "plain" | "palette" | "wide" }

export function Dialog({ title, onClose, children, footer, kind = "plain" }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} class={`dialog ${kind}`} aria-label={title} onClose={onClose} onClick={(event) => (event.target === element.current ? onClose() : undefined)}>
      <div class="dialog-inside">
        {kind === "palette" ? null : <header class="dialog-head row"><h2 class="grow">{title}</h2><Button kind="quiet" icon="close" iconOnly label={t.close} onClick={onClose} /></header>}
        <div class="dialog-body">{children}</div>
        {footer ? <footer class="dialog-foot row">{footer}</footer> : null}
      </div>
    </dialog>
  );
}
