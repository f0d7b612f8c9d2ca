/** The view Grid of a run. */
import { Empty } from "../../components/basics.tsx";
import { r } from "../../texts/run.en.ts";
import type { RunViewProps } from "../run/tabs.ts";

export default function Grid(_props: RunViewProps) {
  return <Empty title={r.tabs.grid} />;
}
