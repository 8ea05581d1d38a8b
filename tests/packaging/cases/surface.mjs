// The public surface of the package is the one in tests/surface/npm.txt.

import assert from "node:assert/strict";
import { surfaceDifference } from "../surface.mjs";

export default async function surface(suite) {
  await suite.test("what the entries export and declare is what tests/surface/npm.txt lists", async () => {
    const difference = await surfaceDifference();
    assert.ok(difference === undefined, difference);
  });
}
