/** The list of runs, live and archived. */
import { Empty } from "../../components/basics.tsx";
import { t } from "../../texts.en.ts";

export default function Runs() {
  return <Empty title={t.views.runs} />;
}
