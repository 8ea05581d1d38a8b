// Tests the error of init() where the entry for browsers cannot load the wasm.

import { expect, test } from "vitest";
import init from "../node_modules/portway/portway.js";

test(`${process.env.PLACE}: if the wasm cannot be loaded, the error names a remedy`, async () => {
  await expect(init()).rejects.toThrow(/^portway: .*portway_bg\.wasm cannot be read: .*portway\/inline.*init\(\)/);
});
