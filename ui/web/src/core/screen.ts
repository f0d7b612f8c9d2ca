/** The width of the screen, as far as views depend on it. */
import { signal } from "@preact/signals";

const media = matchMedia("(max-width: 720px)");
/** A phone, or a window as narrow as one. */
export const narrow = signal(media.matches);
media.addEventListener("change", () => (narrow.value = media.matches));
