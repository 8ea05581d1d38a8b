// The errors of calls over a WebSocket: they contain the cause.

import { assert } from "chai";
import { connectTo, requestsIn, sockets, startServer, webSocketTransport } from "./support/sockets.js";
import { JSONRPCClient, inNode } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const deadUrl = "ws://127.0.0.1:9/rpc";

describe("the error of a call over a WebSocket", () => {
  it("that times out before the connection opens contains the URL without its secrets, and the last failure", async () => {
    const { peer, named } = connectTo("ws://ada:secret@127.0.0.1:9/rpc?ticket=secret");
    await until(() => named("onRetry").length > 0);
    const error = await rejection(peer.request("add", [1, 2], { timeout: 50 }));
    assert.equal(error.reason, "timeout");
    const text = "JSON-RPC timeout without a connection (the attempt to connect to ws://127.0.0.1:9/rpc has failed";
    assert.equal(error.message.slice(0, text.length), text);
    assert.notInclude(error.message, "secret");
    assert.match(error.message, /\): add \(id=\d+\)$/);
    // Pages do not see why an attempt has failed.
    if (inNode) assert.include(error.message, "ECONNREFUSED");
  });

  it("that times out during the first attempt contains the URL", async () => {
    const server = await startServer();
    await server.set({ upgrades: "hang" });
    const { peer } = connectTo(server.url);
    const error = await rejection(peer.request("add", [], { timeout: 200 }));
    assert.include(error.message, `JSON-RPC timeout without a connection to ${server.url}: add (id=`);
  });

  it("that times out after it was sent has no such text", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const error = await rejection(peer.request("never", [], { timeout: 100 }));
    assert.match(error.message, /^JSON-RPC timeout: never \(id=\d+\)$/);
  });

  for (const name of ["url", "protocols", "first"])
    it(`contains the exception of the function ${name}`, async () => {
      const fail = () => {
        throw new Error("no ticket");
      };
      const { peer, named } = connectTo(name === "url" ? fail : deadUrl, name === "url" ? {} : { [name]: fail });
      await until(() => named("onRetry").length > 0);
      const error = await rejection(peer.request("add", [], { timeout: 50 }));
      assert.include(error.message, "the attempt to connect has failed: no ticket");
      assert.equal(named("onRetry")[0].cause.message, "no ticket");
    });

  it("contains the URL and the reason if the URL is invalid, with the error of the constructor as the cause", async () => {
    const { peer, named } = connectTo("ftp://127.0.0.1/?ticket=secret");
    const error = await rejection(peer.request("echo", []));
    assert.equal(error.reason, "peer-gone");
    assert.equal(error.cause.name, "SyntaxError");
    assert.include(error.message, `the attempt to connect to ftp://127.0.0.1/ has failed: ${error.cause.message}`);
    assert.deepEqual(error.data, { code: 1006, reason: "", wasClean: false });
    assert.equal(named("onEnd").length, 1);
  });

  it("contains the URL and the code after a lost connection, and is printed as a CallError", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const call = rejection(peer.request("never"));
    await server.logOnce((log) => requestsIn(log, "never").length === 1);
    await server.command("close", { code: 1001, reason: "going" });
    const error = await call;
    assert.equal(error.message, `the connection to ${server.url} has ended with code 1001: going`);
    assert.equal(error.constructor.name, "CallError");
    if (inNode) {
      const { inspect } = await import("node:util");
      assert.match(inspect(error), /^CallError: the connection to /);
    }
  });

  it("says that this side has closed the transport, also for a client on a transport that was destroyed", async () => {
    const transport = webSocketTransport(deadUrl, sockets);
    new JSONRPCClient(transport).destroy();
    const client = new JSONRPCClient(transport);
    afterThisTest(() => client.destroy());
    const error = await rejection(client.request("add", []));
    assert.equal(error.reason, "peer-gone");
    assert.equal(error.message, "this side has closed the transport");
  });
});
