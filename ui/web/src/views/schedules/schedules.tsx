/** The view Schedules. */
import { Empty } from "../../components/basics.tsx";
import { t } from "../../texts.en.ts";

export default function Schedules() {
  return <Empty title={t.views.schedules} />;
}
