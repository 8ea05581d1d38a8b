// Tests that the public surface of the package equals tests/surface/npm.txt.

import assert from "node:assert/strict";
import { surfaceDifference } from "../surface.mjs";

export default async function surface(suite) {
  await suite.test("tests/surface/npm.txt lists all exports and declarations of the entries", async () => {
    const difference = await surfaceDifference();
    assert.ok(difference === undefined, difference);
  });
}
