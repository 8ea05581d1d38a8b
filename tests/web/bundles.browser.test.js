// Two modules of the package, portway.js and inline.js, use one iframe in one window. See also bundles.test.js.

import { assert } from "chai";
import * as main from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection } from "./support/outcomes.js";

const inline = await import(main.packaged("inline.js"));

describe("two modules of the package on one iframe", () => {
  before(() => inline.default());

  for (const [name, first, second] of [
    ["main", main, inline],
    ["inline", inline, main],
  ]) {
    it(`share a boundary if the module ${name} connects to the iframe, and the other module uses the window of the iframe`, async () => {
      const iframe = document.createElement("iframe");
      document.body.append(iframe);
      afterThisTest(() => iframe.remove());
      const controller = new AbortController();
      const { signal } = controller;
      const connecting = rejection(first.connect(iframe, { origin: globalThis.origin, connectTimeout: 0, signal }));
      const client = new second.JSONRPCClient(second.windowTransport(iframe.contentWindow));
      const { frames, objects } = globalThis[Symbol.for("portway.boundaries")];
      const { boundary } = [...frames].find(({ frame }) => frame === iframe);
      assert.equal(objects.get(globalThis).windows.get(iframe.contentWindow), boundary);
      assert.equal(boundary.links.size, 2);
      client.destroy();
      controller.abort();
      await connecting;
      assert.equal(boundary.links.size, 0);
    });
  }
});
