/** The buttons that change a run. */
import type { RunViewProps } from "./tabs.ts";

export function RunActs(_props: RunViewProps) {
  return null;
}
