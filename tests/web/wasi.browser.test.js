// The error of starting a WASI guest in a page that is not cross-origin isolated.

import { assert } from "chai";
import { odd } from "./support/guests.js";
import { packaged } from "./support/portway.js";
import { rejection } from "./support/outcomes.js";

const { startWasiGuest } = await import(packaged("wipc-wasi.js"));

describe("a WASI guest in a page that is not cross-origin isolated", () => {
  it("cannot be started, and the error names the missing headers", async () => {
    assert.isFalse(crossOriginIsolated);
    const error = await rejection(startWasiGuest(odd));
    assert.instanceOf(error, Error);
    assert.match(error.message, /Cross-Origin-Opener-Policy: same-origin/);
    assert.match(error.message, /Cross-Origin-Embedder-Policy: require-corp/);
  });
});
