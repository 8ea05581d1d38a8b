// `portway/early` in frames; for workers see workers.browser.test.js.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, windowTransport } from "./rig/portway.js";
import { frame, origins, puppet } from "./rig/frames.js";
import { afterThisTest } from "./rig/cleanup.js";
import { rejection } from "./rig/outcomes.js";

const slow = "/pkg/portway_bg.wasm?delay=300";

for (const [kind, options, transportOptions] of [
  ["the same origin", { query: { wasm: slow } }, undefined],
  ["another origin", { origin: origins.other, query: { wasm: slow, origin: origins.own } }, { origin: origins.other }],
  ["no origin", { sandbox: "allow-scripts", query: { wasm: slow, origin: origins.own } }, { origin: "null" }],
]) {
  it(`a frame of ${kind} serves what came before its wasm had loaded`, async () => {
    const { contentWindow } = await frame("early-frame.html", options);
    const peer = new JSONRPCPeer(windowTransport(contentWindow, transportOptions)).method("name", () => "page");
    afterThisTest(() => peer.destroy());
    const results = await Promise.all([peer.request("echo", [1]), peer.request("callBack"), peer.request("echo", [2])]);
    assert.deepEqual(results, [[1], ["back", "page"], [2]]);
    assert.deepEqual(await peer.request("echo", [3]), [3]);
  });
}

it("a frame keeps what comes from another window for a transport that is made later", async () => {
  const sibling = await puppet();
  const { contentWindow } = await frame("early-frame.html", { query: { wasm: slow } });
  const numberOf = (window) => Array.from({ length: frames.length }, (_, n) => frames[n]).indexOf(window);
  const post = (n) => sibling.post({ jsonrpc: "2.0", method: "note", params: [n] }, numberOf(contentWindow));
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  post(1);
  await client.request("echo");
  post(2);
  await sibling.settled();
  await client.request("echo");
  assert.deepEqual(await client.request("listenTo", [numberOf(sibling.window)]), [1, 2]);
});

it("a frame that others flood keeps what comes from its parent", async () => {
  const sibling = await puppet();
  const { contentWindow } = await frame("early-frame.html", { query: { wasm: "/pkg/portway_bg.wasm?delay=2000" } });
  const number = Array.from({ length: frames.length }, (_, n) => frames[n]).indexOf(contentWindow);
  for (let n = 0; n < 10_100; n++) sibling.post({ jsonrpc: "2.0", method: "note", params: [n] }, number);
  await sibling.settled();
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  assert.deepEqual(await client.request("echo", [1]), [1]);
});

it("a frame does not serve what came from an origin that it does not allow", async () => {
  const { contentWindow } = await frame("early-frame.html", { query: { wasm: slow, origin: origins.other } });
  const client = new JSONRPCClient(windowTransport(contentWindow), { timeout: 1_000 });
  afterThisTest(() => client.destroy());
  assert.equal((await rejection(client.request("echo"))).reason, "timeout");
});

it("a frame whose wasm is not there answers its callers with an error, then and later", async () => {
  for (const [options, transportOptions] of [
    [{}, undefined],
    [{ origin: origins.other }, { origin: origins.other }],
    [{ sandbox: "allow-scripts" }, { origin: "null" }],
  ]) {
    const query = { wasm: "/nowhere.wasm?delay=100", origin: origins.own };
    const { contentWindow } = await frame("early-frame.html", { ...options, query });
    const client = new JSONRPCClient(windowTransport(contentWindow, transportOptions));
    afterThisTest(() => client.destroy());
    for (let n = 0; n < 2; n++) {
      const error = await rejection(client.request("echo"));
      assert.equal(error.code, -32603);
      assert.include(error.message, "nowhere.wasm");
    }
  }
});
