// Tests Vue and zone.js, which Angular uses. React needs a document, so vitest.mjs tests React.

import { addPrinted } from "../environment.mjs";

export default async function frameworks(suite, testFolder) {
  await addPrinted(suite, "Vue", await testFolder.project("vue"), process.execPath, "states.mjs");
  await addPrinted(suite, "zone.js", await testFolder.project("angular"), process.execPath, "zones.mjs");
}
