/**
 * Sets the theme before the first paint: the choice of the viewer, or that of the system.
 *
 * A script of its own that blocks the first paint, and so imports nothing.
 */
let chosen: string | null = null;
try {
  chosen = localStorage.getItem("torpor.theme");
} catch {
  // A browser may forbid storage.
}
const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset["theme"] = dark ? "dark" : "light";
