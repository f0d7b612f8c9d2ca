/** Light or dark: the choice of the viewer, else that of the system. Canvas drawings read the colours here. */
import { computed, signal } from "@preact/signals";
import { store, stored } from "./storage.ts";

export type ThemeChoice = "system" | "light" | "dark";
const KEY = "torpor.theme";
const media = matchMedia("(prefers-color-scheme: dark)");
const system = signal(media.matches);
media.addEventListener("change", () => (system.value = media.matches));

function keptChoice(): ThemeChoice {
  const value = stored(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export const themeChoice = signal<ThemeChoice>(keptChoice());
export const dark = computed(() => (themeChoice.value === "system" ? system.value : themeChoice.value === "dark"));

export function chooseTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  store(KEY, choice === "system" ? null : choice);
}

export function startTheme(): void {
  dark.subscribe((value) => (document.documentElement.dataset["theme"] = value ? "dark" : "light"));
}

/** Returns the value of a colour token, such as `--tone-run`, in the present theme. Read `dark.value` to be told of a change. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
