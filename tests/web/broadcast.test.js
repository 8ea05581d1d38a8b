// Clients and servers on a BroadcastChannel.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, broadcastTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

let nameCount = 0;
const freshName = () => `portway specs ${++nameCount} ${Math.random()}`;

/** Returns a transport on the channel with this name. */
function joined(name) {
  const transport = broadcastTransport(name);
  afterThisTest(() => transport.destroy());
  return transport;
}

describe("a broadcast channel", () => {
  it("delivers a call to its only server", async () => {
    const name = freshName();
    new JSONRPCServer(joined(name)).method("echo", (params) => params);
    assert.deepEqual(await new JSONRPCClient(joined(name)).request("echo", [1]), [1]);
  });

  it("delivers a notification to each server on the channel", async () => {
    const name = freshName();
    const seen = [];
    for (const server of ["a", "b", "c"])
      new JSONRPCServer(joined(name)).onNotify("note", ([n]) => void seen.push(server + n));
    new JSONRPCClient(joined(name)).notify("note", [1]);
    await until(() => seen.length === 3);
    assert.sameMembers(seen, ["a1", "b1", "c1"]);
  });

  it("resolves a call with the first of several responses, and ignores the others", async () => {
    const name = freshName();
    for (const server of ["a", "b"]) new JSONRPCServer(joined(name)).method("name", () => server);
    const client = new JSONRPCClient(joined(name));
    for (let n = 0; n < 5; n++) assert.include(["a", "b"], await client.request("name"));
    assert.equal(client.pending, 0);
  });

  it("stays open after destroy() of a client if the application has created the BroadcastChannel", async () => {
    const name = freshName();
    const [near, far] = [new BroadcastChannel(name), new BroadcastChannel(name)];
    afterThisTest(() => [near, far].forEach((channel) => channel.close()));
    new JSONRPCServer(broadcastTransport(far)).method("echo", (params) => params);
    const client = new JSONRPCClient(broadcastTransport(near));
    assert.deepEqual(await client.request("echo", [1]), [1]);
    client.destroy();
    // A closed channel would throw.
    near.postMessage({ type: "still open" });
  });

  it("rejects a call with a transfer list", async () => {
    const client = new JSONRPCClient(joined(freshName()));
    const { buffer } = new Uint8Array(1);
    assert.instanceOf(await rejection(client.request("a", { buffer }, { transfer: [buffer] })), TypeError);
    assert.deepEqual([client.pending, buffer.byteLength], [0, 1]);
  });

  it("resolves a call with the response that has its id, and ignores all other messages", async () => {
    const name = freshName();
    const otherContext = new BroadcastChannel(name);
    afterThisTest(() => otherContext.close());
    const request = new Promise((resolve) =>
      otherContext.addEventListener("message", ({ data }) => resolve(data), { once: true }),
    );
    const call = new JSONRPCClient(joined(name)).request("a");
    const { id } = await request;
    for (const message of [
      "text",
      { type: "x" },
      { jsonrpc: "2.0", method: "a", id },
      { jsonrpc: "2.0", id: 9, result: 9 },
    ]) {
      otherContext.postMessage(message);
    }
    otherContext.postMessage({ jsonrpc: "2.0", id, result: "own" });
    assert.equal(await call, "own");
  });
});
