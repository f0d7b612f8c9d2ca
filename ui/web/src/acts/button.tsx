/** A button that opens the dialog of an act; disabled with the reason if the caller may not. */
import { Button, type ButtonProps } from "../components/basics.tsx";
import type { Access } from "../contract.ts";
import { session } from "../core/session.ts";
import { a } from "../texts/acts.en.ts";
import { openAct } from "./open.ts";
import { refusal, type ActRequest } from "./request.ts";

export interface ActButtonProps { request: ActRequest; access: Access; icon?: ButtonProps["icon"]; kind?: ButtonProps["kind"]; label?: string; disabled?: string | undefined }

export function ActButton({ request, access, icon, kind, label, disabled }: ActButtonProps) {
  const reason = disabled ?? refusal(access, request.act, session.value?.readOnly ?? false);
  return (
    <Button label={label ?? a.acts[request.act].button} {...(icon ? { icon } : {})} {...(kind ? { kind } : {})}
      disabled={reason} title={a.acts[request.act].title} onClick={() => void openAct(request)} />
  );
}
