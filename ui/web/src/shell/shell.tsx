/** The frame of all views: header, navigation, namespaces, palette, keys, and what went wrong with the session. */
import { useEffect } from "preact/hooks";
import { Button, Loading, ProblemBox } from "../components/basics.tsx";
import { Icon } from "../components/icons.tsx";
import { clockSkew, loggedOut } from "../core/api.ts";
import { addCommands } from "../core/commands.ts";
import { addHotkeys } from "../core/hotkeys.ts";
import { href, location, navigate } from "../core/router.ts";
import { narrow } from "../core/screen.ts";
import { loadSession, session, sessionProblem } from "../core/session.ts";
import { chooseTheme, dark, themeChoice } from "../core/theme.ts";
import { duration } from "../core/times.ts";
import { t } from "../texts.en.ts";
import { navigation } from "../views/routes.ts";
import { CurrentView } from "./current_view.tsx";
import { KeysDialog, showKeys } from "./keys.tsx";
import { Login } from "./login.tsx";
import { NamespaceChooser } from "./namespace_chooser.tsx";
import { Palette, showPalette } from "./palette.tsx";
import { UserMenu } from "./user_menu.tsx";

const WRONG_CLOCK = 60;

export function Shell() {
  useEffect(() => {
    void loadSession();
    const removed = [addHotkeys(shellKeys()), addCommands(shellCommands())];
    return () => removed.forEach((remove) => remove());
  }, []);
  if (sessionProblem.value) return <div class="page-pad"><ProblemBox problem={sessionProblem.value} onRetry={() => void loadSession()} /></div>;
  if (!session.value) return loggedOut.value ? <Login /> : <Loading />;
  if (!session.value.login) return <Login />;
  return (
    <div class="shell">
      <a class="skip-link" href="#view" onClick={focusView}>{t.skip}</a>
      <Header />
      <Notes />
      <main class="view" id="view" tabIndex={-1}><CurrentView /></main>
      <Palette />
      <KeysDialog />
    </div>
  );
}

function focusView(event: Event): void {
  event.preventDefault();
  document.getElementById("view")?.focus();
}

function Header() {
  const active = location.value.path[0] ?? "runs";
  return (
    <header class="bar">
      <a class="brand" href={href("runs")}><img src="icon.svg" width="22" height="22" alt="" />{t.brand}</a>
      <nav aria-label={t.navigation}>
        {navigation.map((entry) => (
          <a key={entry.path} class="nav-link" href={href(entry.path)} aria-current={active === entry.path || (active === "run" && entry.path === "runs") ? "page" : undefined}>{entry.title}</a>
        ))}
      </nav>
      <span class="grow" />
      <button type="button" class="finder" onClick={() => (showPalette.value = true)} aria-label={narrow.value ? t.palette : undefined}>
        <Icon name="search" size={14} /><span class="grow clip">{t.palette}</span><kbd>Ctrl K</kbd>
      </button>
      <NamespaceChooser />
      <Button kind="quiet" icon={dark.value ? "moon" : "sun"} iconOnly label={`${t.theme.label}: ${t.theme[themeChoice.value]}`} onClick={() => chooseTheme(dark.value ? "light" : "dark")} />
      <UserMenu />
    </header>
  );
}

function Notes() {
  const skew = Math.abs(clockSkew.value);
  return (
    <>
      {loggedOut.value ? <div class="note" role="alert"><Icon name="warn" size={14} /><span class="grow">{t.sessionEnded}</span><Button label={t.login} onClick={() => window.location.reload()} /></div> : null}
      {skew > WRONG_CLOCK ? <div class="note"><Icon name="clock" size={14} />{t.clockWrong(duration(skew))}</div> : null}
    </>
  );
}

function shellKeys() {
  const group = t.groups.page;
  return [
    { keys: "mod+k", label: t.palette, group, inFields: true, run: () => (showPalette.value = !showPalette.peek()) },
    { keys: "?", label: t.keysTitle, group, run: () => (showKeys.value = true) },
    { keys: "t", label: t.theme.label, group, run: () => chooseTheme(dark.peek() ? "light" : "dark") },
    ...navigation.map((entry) => ({ keys: `g ${entry.key}`, label: t.go(entry.title), group: t.groups.go, run: () => navigate(href(entry.path)) })),
  ];
}

function shellCommands() {
  return [
    ...navigation.map((entry) => ({ id: `go-${entry.path}`, title: entry.title, group: t.groups.go, keys: `g ${entry.key}`, run: () => navigate(href(entry.path)) })),
    ...(["system", "light", "dark"] as const).map((choice) => ({ id: `theme-${choice}`, title: `${t.theme.label}: ${t.theme[choice]}`, group: t.groups.page, run: () => chooseTheme(choice) })),
    { id: "keys", title: t.keysTitle, group: t.groups.page, keys: "?", run: () => (showKeys.value = true) },
  ];
}
