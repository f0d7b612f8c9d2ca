/** A panel below a button. It closes on Escape, on a click elsewhere, and when the focus leaves it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/basics.tsx";
import type { IconName } from "../components/icons.tsx";

export interface PopoverProps { label: string; icon?: IconName; iconOnly?: boolean; kind?: "plain" | "quiet" | "primary"; start?: boolean; children: (close: () => void) => ComponentChildren }

export function Popover({ label, icon, iconOnly = false, kind = "quiet", start = false, children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const close = () => setOpen(false);
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event) => (element.current?.contains(event.target as Node) ? undefined : close());
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      close();
      element.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      document.removeEventListener("keydown", escape);
    };
  }, [open]);
  return (
    <div class="popover" ref={element}>
      <Button label={label} kind={kind} iconOnly={iconOnly} {...(icon ? { icon } : {})} expanded={open} onClick={() => setOpen(!open)} />
      {open ? <div class={`popover-body${start ? " start" : ""}`}>{children(close)}</div> : null}
    </div>
  );
}
