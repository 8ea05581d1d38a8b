import type { InspectorContext } from "./context";

/** Reads a file that the user has chosen. */
export async function importFrom({ model }: InspectorContext, file: File): Promise<void> {
  try {
    model.importText(file.name, await file.text());
  } catch (error) {
    model.notice.set(`${file.name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
