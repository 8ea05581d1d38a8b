// The errors of calls and notifications over a WebSocket: they contain the cause.

import { assert } from "chai";
import { connectTo, requestsIn, sockets, startServer, webSocketTransport } from "./support/sockets.js";
import { CallError, JSONRPCClient, inNode, portTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const deadUrl = "ws://127.0.0.1:9/rpc";

describe("the error of a call over a WebSocket", () => {
  it("contains the URL without its secrets, and the last failure, if the call times out before the connection opens", async () => {
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

  it("contains the URL if the call times out during the first attempt to connect", async () => {
    const server = await startServer();
    await server.set({ upgrades: "hang" });
    const { peer } = connectTo(server.url);
    const error = await rejection(peer.request("add", [], { timeout: 200 }));
    assert.include(error.message, `JSON-RPC timeout without a connection to ${server.url}: add (id=`);
  });

  it("does not name the connection if the call was sent and times out", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    const error = await rejection(peer.request("never", [], { timeout: 100 }));
    assert.match(error.message, /^JSON-RPC timeout: never \(id=\d+\)$/);
  });

  for (const name of ["url", "protocols", "first"])
    it(`contains the error of \`${name}\` if \`${name}\` is a function that throws`, async () => {
      const fail = () => {
        throw new Error("undefined has no ticket");
      };
      const { peer, named } = connectTo(name === "url" ? fail : deadUrl, name === "url" ? {} : { [name]: fail });
      await until(() => named("onRetry").length > 0);
      const error = await rejection(peer.request("add", [], { timeout: 50 }));
      assert.include(error.message, "the attempt to connect has failed: undefined has no ticket");
      assert.equal(named("onRetry")[0].cause.message, "undefined has no ticket");
    });

  it("contains the URL and the reason, and has the error of the constructor as its cause, if the URL is invalid", async () => {
    const { peer, named } = connectTo("ftp://127.0.0.1/?ticket=secret");
    const error = await rejection(peer.request("echo", []));
    assert.equal(error.reason, "peer-gone");
    assert.equal(error.cause.name, "SyntaxError");
    assert.include(error.message, `the attempt to connect to ftp://127.0.0.1/ has failed: ${error.cause.message}`);
    assert.deepEqual(error.data, { code: 1006, reason: error.cause.message, wasClean: false });
    assert.equal(named("onEnd").length, 1);
  });

  it("has the error of the constructor as its cause, and no further attempt follows, if the URL is empty", async () => {
    class Refusing {
      constructor() {
        throw new SyntaxError("no URL");
      }
    }
    const { peer, named } = connectTo("", { WebSocket: Refusing });
    const error = await rejection(peer.request("echo", []));
    assert.deepEqual([error.reason, error.cause.message], ["peer-gone", "no URL"]);
    assert.equal(named("onEnd").length, 1);
  });

  it("contains no password and no query of an invalid URL", async () => {
    const { peer } = connectTo("wss://ada:secret@127.0.0.1:99999/?ticket=secret");
    const error = await rejection(peer.request("echo", []));
    assert.include(error.message, "the attempt to connect to wss://127.0.0.1:99999/ has failed");
    assert.notInclude(error.message, "secret");
  });

  it("contains one of two errors if the function `protocols` throws and the function `url` rejects", async () => {
    const options = {
      protocols() {
        throw new Error("no protocols");
      },
    };
    const { peer, named } = connectTo(() => Promise.reject(new Error("no ticket")), options);
    await until(() => named("onRetry").length > 0);
    const error = await rejection(peer.request("add", [], { timeout: 50 }));
    assert.match(error.message, /has failed: no (ticket|protocols)/);
  });

  it("contains the URL and the close code, and is printed as a CallError, if the connection is lost", async () => {
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

  it("states that this side has closed the transport if the client was created on a destroyed transport", async () => {
    const transport = webSocketTransport(deadUrl, sockets);
    new JSONRPCClient(transport).destroy();
    const client = new JSONRPCClient(transport);
    afterThisTest(() => client.destroy());
    const error = await rejection(client.request("add", []));
    assert.equal(error.reason, "peer-gone");
    assert.equal(error.message, "this side has closed the transport");
  });
});

describe("a client with a WebSocket class of the application", () => {
  for (const hasOpened of [true, false])
    it(`makes a further attempt if a \`close\` event ${hasOpened ? "after" : "without"} an \`open\` event has no code`, async () => {
      const made = [];
      class Bare extends EventTarget {
        constructor() {
          super();
          this.readyState = 0;
          made.push(this);
          queueMicrotask(() => {
            if (hasOpened) this.emit("open", 1);
          });
          setTimeout(() => this.emit("close", 3), 10);
        }
        emit(name, state) {
          this.readyState = state;
          this.dispatchEvent(new Event(name));
        }
        send() {}
        close() {}
      }
      const { peer, named } = connectTo("ws://host/path", { WebSocket: Bare });
      const call = peer.request("none", [], { timeout: 0 });
      call.catch(() => {});
      await until(() => made.length > 1);
      const [{ code, reason, wasClean }] = named("onRetry");
      assert.deepEqual({ code, reason, wasClean }, { code: 1006, reason: "", wasClean: false });
      if (hasOpened) assert.equal((await rejection(call)).reason, "session-ended");
      peer.destroy();
    });

  it("reports the error of an `error` event soon, and makes a further attempt, if no `close` event follows", async () => {
    class Failing extends EventTarget {
      readyState = 0;
      bufferedAmount = 0;
      constructor() {
        super();
        queueMicrotask(() => this.dispatchEvent(Object.assign(new Event("error"), { error: new Error("refused") })));
      }
      close() {}
    }
    const { peer, named } = connectTo(deadUrl, { WebSocket: Failing });
    await until(() => named("onRetry").length > 2, "the attempts did not fail", 5_000);
    assert.equal(named("onRetry")[0].cause.message, "refused");
    const { peer: single } = connectTo(deadUrl, { WebSocket: Failing, reconnect: false });
    assert.include((await rejection(single.request("add"))).message, "has failed: refused");
    peer.destroy();
  });
});

describe("a notification that cannot be sent", () => {
  /** Lets the server close the WebSocket with a code that forbids a reconnect. */
  async function closedByServer() {
    const server = await startServer();
    const { peer, session, transport, errors } = connectTo(server.url);
    await session();
    await server.command("close", { code: 4403, reason: "forbidden" });
    await until(() => transport.state === "closed");
    return { client: peer, errors };
  }

  /** Lets the peer close its port, and waits until a call of the client rejects. */
  async function closedPort() {
    const { port1, port2 } = new MessageChannel();
    const errors = [];
    const client = new JSONRPCClient(portTransport(port1), { onError: (error) => errors.push(error) });
    afterThisTest(() => client.destroy());
    port2.close();
    await rejection(client.request("add", [], { timeout: 500 }));
    return { client, errors };
  }

  const ends = { "the server has closed the WebSocket with 4403": closedByServer };
  // Some browsers do not report that a port was closed.
  if (inNode) ends["the peer has closed the port"] = closedPort;
  for (const [name, end] of Object.entries(ends))
    it(`is reported to onError, and does not throw, if ${name}`, async () => {
      const { client, errors } = await end();
      client.notify("progress", [1]);
      const [error] = errors;
      assert.lengthOf(errors, 1);
      assert.instanceOf(error, CallError);
      assert.deepEqual([error.reason, error.method], ["peer-gone", "progress"]);
    });

  it("is reported to onError, and does not throw, if a client over a WebSocket was destroyed", () => {
    const errors = [];
    const client = new JSONRPCClient(webSocketTransport(deadUrl, sockets), { onError: (error) => errors.push(error) });
    client.destroy();
    client.notify("progress", [1]);
    assert.deepEqual(
      errors.map(({ reason, method }) => [reason, method]),
      [["destroyed", "progress"]],
    );
  });
});
