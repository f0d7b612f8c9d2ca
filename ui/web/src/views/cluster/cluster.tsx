/** The view Cluster. */
import { Empty } from "../../components/basics.tsx";
import { t } from "../../texts.en.ts";

export default function Cluster() {
  return <Empty title={t.views.cluster} />;
}
