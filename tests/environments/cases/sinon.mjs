// Tests timeouts under the fake timers of sinon.

import { addPrinted } from "../environment.mjs";

export default async function sinon(suite, environment) {
  await addPrinted(suite, "sinon", await environment.project("sinon"), process.execPath, "clocks.js");
}
