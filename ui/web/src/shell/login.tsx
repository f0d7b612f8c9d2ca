/** Logs in: a pasted token, or the way to the identity provider. The token goes to the server once, and is not kept here. */
import { useState } from "preact/hooks";
import { Button, ProblemBox, TextInput } from "../components/basics.tsx";
import { asProblem, queryOf } from "../core/api.ts";
import { baseUrl, serverUrl } from "../core/base.ts";
import { login, session } from "../core/session.ts";
import type { Problem } from "../contract.ts";
import { t } from "../texts.en.ts";

/** The view that is shown, below the base path: the login leads back to it. */
function here(): string {
  return window.location.href.slice(baseUrl().href.length);
}

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
      ) : mode === "oidc" ? <Button kind="primary" label={t.loginWith} onClick={() => window.location.assign(serverUrl(`oidc/login${queryOf({ next: here() })}`))} />
        : <p>{mode === "local" ? t.loginLocal : t.loginProxy}</p>}
    </main>
  );
}
