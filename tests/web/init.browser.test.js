// The HTTP requests that init makes in a browser, and the policies of pages that allow these requests and the wasm.

import { assert } from "chai";
import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  freshCopy,
  packaged,
  portTransport,
  windowTransport,
} from "./support/portway.js";
import { openIframe, origins } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection } from "./support/outcomes.js";

const wasm = packaged("portway_bg.wasm");
const isReady = ({ validateMessage }) => validateMessage({ jsonrpc: "2.0", method: "a", id: 1 }).isValid;

describe("init in a browser", () => {
  for (const [name, input] of [
    ["a URL", () => new URL(wasm)],
    ["a URL as a string", () => wasm],
    ["a relative URL", () => "/pkg/portway_bg.wasm"],
    ["a Request", () => new Request(wasm)],
    ["a Response", () => fetch(wasm).then((response) => ({ response }))],
    ["a promise of a Response", () => ({ promise: fetch(wasm) })],
    ["a URL of another origin", () => wasm.replace(origins.own, origins.other)],
    ["a file of the wrong type", () => `${wasm}?type=text/plain`],
    ["a file without a type", () => `${wasm}?type=`],
  ]) {
    it(`accepts ${name}`, async () => {
      const copy = await freshCopy();
      const argument = await input();
      await copy.default(argument.response ?? argument.promise ?? argument);
      assert.isTrue(isReady(copy));
    });
  }

  for (const [name, input, pattern] of [
    ["a missing file", "/nowhere.wasm", /nowhere\.wasm.*404/],
    [
      "an HTML page in place of the file",
      "/tests/web/fixtures/scripted-iframe.html",
      /scripted-iframe\.html.*text\/html/,
    ],
    ["a server error", `${wasm}?status=500`, /portway_bg\.wasm.*500/],
    ["a file that the server refuses to send", `${wasm}?status=403`, /403.*linked.*Vite/],
    ["a missing server", "http://127.0.0.1:1/portway_bg.wasm", /./],
    ["a truncated file", new Response(new Uint8Array([0, 97, 115, 109, 1, 0])), /./],
    ["an empty file", new Response(""), /./],
  ]) {
    it(`rejects for ${name} with the reason, and a later init works`, async () => {
      const copy = await freshCopy();
      const error = await rejection(copy.default(input));
      assert.instanceOf(error, Error);
      assert.match(error.message, pattern);
      assert.throws(() => isReady(copy), Error, "init()");
      await copy.default();
      assert.isTrue(isReady(copy));
    });
  }

  it("loads its file once, even if it is called several times", async () => {
    const copy = await freshCopy();
    const { fetch } = globalThis;
    let fetched = 0;
    globalThis.fetch = (...args) => (fetched++, fetch(...args));
    try {
      await Promise.all([copy.default(), copy.default()]);
      await copy.default();
    } finally {
      globalThis.fetch = fetch;
    }
    assert.equal(fetched, 1);
  });

  it("works in a page without cross-origin isolation", async () => {
    assert.isFalse(globalThis.crossOriginIsolated);
    assert.equal(typeof SharedArrayBuffer, "undefined");
    const { port1, port2 } = new MessageChannel();
    const server = new JSONRPCServer(portTransport(port2)).method("name", () => "page");
    const client = new JSONRPCClient(portTransport(port1));
    afterThisTest(() => [client, server].forEach((end) => end.destroy()));
    assert.equal(await client.request("name"), "page");
  });
});

describe("a strict Content-Security-Policy of a page", () => {
  it("that allows wasm is sufficient for the library: no violation occurs", async () => {
    const csp =
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; require-trusted-types-for 'script'";
    const { contentWindow } = await openIframe("frame.html", { query: { csp } });
    const peer = new JSONRPCPeer(windowTransport(contentWindow)).method("name", () => "page");
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("callBack"), ["back", "page"]);
    assert.deepEqual(await peer.request("violations"), []);
  });

  it("that does not allow wasm makes init reject, and the error names the missing permission", async () => {
    const csp = "default-src 'none'; script-src 'self'; connect-src 'self'";
    const error = await rejection(openIframe("frame.html", { query: { csp } }));
    assert.match(error.message, /wasm-unsafe-eval|Content.Security.Policy/i);
  });

  it("that does not allow the file to be fetched makes init reject", async () => {
    const csp = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";
    assert.instanceOf(await rejection(openIframe("frame.html", { query: { csp } })), Error);
  });
});
