/** Opens the dialog of an act; its code is loaded with the first one. */
import type { ActRequest } from "./request.ts";

export async function openAct(request: ActRequest): Promise<void> {
  const { showDialog } = await import("./dialog.tsx");
  showDialog(request);
}
