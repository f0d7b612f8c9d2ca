/** The time of the server, once a second. A viewer's clock may be wrong; ages and timelines count by the server's. */
import { signal } from "@preact/signals";
import { clockSkew } from "./api.ts";

const CORRECTED_ABOVE = 2;

export function serverNow(): number {
  const skew = Math.abs(clockSkew.value) > CORRECTED_ABOVE ? clockSkew.value : 0;
  return Date.now() / 1000 + skew;
}

export const now = signal(serverNow());

export function startClock(): void {
  now.value = serverNow();
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, 1000);
  document.addEventListener("visibilitychange", () => (now.value = serverNow()));
}
