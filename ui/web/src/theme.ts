/** Sets the theme before the first paint: the choice of the viewer, or that of the system. */
const chosen = localStorage.getItem("torpor.theme");
const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset["theme"] = dark ? "dark" : "light";
