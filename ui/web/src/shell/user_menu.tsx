/** Who is logged in, the theme, and the way out. */
import { Data } from "../components/data.tsx";
import { Icon } from "../components/icons.tsx";
import { logout, session } from "../core/session.ts";
import { chooseTheme, themeChoice } from "../core/theme.ts";
import { t } from "../texts.en.ts";
import { showKeys } from "./keys.tsx";
import { Popover } from "./popover.tsx";

export function UserMenu() {
  const who = session.value;
  if (!who) return null;
  return (
    <Popover label={t.user} icon="user" iconOnly>
      {(close) => (
        <div class="stack">
          <div class="menu-group">{t.user}</div>
          <div class="menu-item"><span class="clip strong"><Data text={who.user} limit={200} /></span>{who.readOnly ? <span class="chip">{t.readOnly}</span> : null}</div>
          <div class="menu-group">{t.theme.label}</div>
          <div class="menu-list">
            {(["system", "light", "dark"] as const).map((choice) => (
              <button type="button" key={choice} class="menu-item" aria-pressed={themeChoice.value === choice} onClick={() => chooseTheme(choice)}>
                <Icon name={choice === "system" ? "system" : choice === "light" ? "sun" : "moon"} size={14} /><span class="grow">{t.theme[choice]}</span>{themeChoice.value === choice ? <Icon name="check" size={14} /> : null}
              </button>
            ))}
            <button type="button" class="menu-item" onClick={() => { close(); showKeys.value = true; }}><Icon name="keyboard" size={14} /><span class="grow">{t.keys}</span><kbd>?</kbd></button>
            {who.mode === "token" || who.mode === "oidc" ? <button type="button" class="menu-item" onClick={() => void logout()}><Icon name="out" size={14} />{t.logout}</button> : null}
          </div>
          <div class="menu-group user-version">{t.version(who.version)}</div>
        </div>
      )}
    </Popover>
  );
}
