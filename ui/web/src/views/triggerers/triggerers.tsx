/** The view Triggerers. */
import { Empty } from "../../components/basics.tsx";
import { t } from "../../texts.en.ts";

export default function Triggerers() {
  return <Empty title={t.views.triggerers} />;
}
