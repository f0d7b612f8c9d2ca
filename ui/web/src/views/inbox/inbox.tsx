/** The view Inbox. */
import { Empty } from "../../components/basics.tsx";
import { t } from "../../texts.en.ts";

export default function Inbox() {
  return <Empty title={t.views.inbox} />;
}
