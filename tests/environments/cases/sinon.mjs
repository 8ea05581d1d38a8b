// Tests timeouts under the fake timers of sinon.

import { addPrinted } from "../environment.mjs";

export default async function sinon(suite, testFolder) {
  await addPrinted(suite, "sinon", await testFolder.project("sinon"), process.execPath, "clocks.js");
}
