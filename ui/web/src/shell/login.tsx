/** Logs in: a pasted token, or the way to the identity provider. The token goes to the server once, and is not kept here. */
import { useState } from "preact/hooks";
import { Button, ProblemBox, TextInput } from "../components/basics.tsx";
import { asProblem } from "../core/api.ts";
import { serverUrl } from "../core/base.ts";
import { login, session } from "../core/session.ts";
import type { Problem } from "../contract.ts";
import { t } from "../texts.en.ts";

export function Login() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const mode = session.value?.mode ?? "token";
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await login(token.trim());
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <main class="login">
      <span class="brand"><img src="icon.svg" width="28" height="28" alt="" />{t.brand}</span>
      <h1>{t.loginTitle}</h1>
      {problem ? <ProblemBox problem={problem} /> : null}
      {mode === "token" ? (
        <form class="stack wide" onSubmit={(event) => void submit(event)}>
          <TextInput label={t.loginToken} hideLabel={false} type="password" value={token} onInput={setToken} />
          <p class="soft small">{t.loginHelp}</p>
          <button type="submit" class="button primary">{t.login}</button>
        </form>
      ) : mode === "oidc" ? <Button kind="primary" label={t.loginWith} onClick={() => window.location.assign(serverUrl(session.value?.loginUrl ?? "api/login"))} /> : <p>{t.sessionEnded}</p>}
    </main>
  );
}
