import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, portTransport } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { isOpen, until } from "./support/outcomes.js";

describe("a peer", () => {
  it("calls and serves on one transport", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near).method("name", () => "here");
    const there = new JSONRPCPeer(far).method("name", () => "there");
    assert.deepEqual(await Promise.all([here.request("name"), there.request("name")]), ["there", "here"]);
  });

  it("distinguishes its own calls from those of the peer, though they have the same ids", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near).method("double", ([n]) => n * 2);
    const there = new JSONRPCPeer(far).method("square", ([n]) => n * n);
    const results = await Promise.all(
      [3, 4, 5].flatMap((n) => [here.request("square", [n]), there.request("double", [n])]),
    );
    assert.deepEqual(results, [9, 6, 16, 8, 25, 10]);
  });

  it("sends and gets notifications both ways", async () => {
    const { near, far } = channel();
    const seen = [];
    const here = new JSONRPCPeer(near).onNotify("console", (params) => void seen.push(["here", params]));
    const there = new JSONRPCPeer(far).onNotify("navigate", (params) => void seen.push(["there", params]));
    here.notify("navigate", { url: "/" });
    there.notify("console", { level: "log" });
    await until(() => seen.length === 2);
    assert.sameDeepMembers(seen, [
      ["there", { url: "/" }],
      ["here", { level: "log" }],
    ]);
  });

  it("returns itself from method and onNotify", () => {
    const peer = new JSONRPCPeer(recorder());
    assert.equal(
      peer.method("a", () => {}),
      peer,
    );
    assert.equal(
      peer.onNotify("a", () => {}),
      peer,
    );
  });

  it("refuses names that begin with rpc.", () => {
    assert.throws(() => new JSONRPCPeer(recorder()).method("rpc.a", () => {}), TypeError, "rpc.");
  });
});

describe("the remote of a peer", () => {
  it("has each method of the peer as a function", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("build", ({ entry }) => `built ${entry}`).method("a.b/c", () => "odd");
    const { remote } = new JSONRPCPeer(near);
    assert.equal(await remote.build({ entry: "app.ts" }), "built app.ts");
    assert.equal(await remote["a.b/c"](), "odd");
  });

  it("takes the options of a call", async () => {
    const { remote } = new JSONRPCPeer(recorder());
    const error = await remote.slow({}, { timeout: 5 }).catch((error) => error);
    assert.equal(error.message, "JSON-RPC timeout: slow (id=1)");
  });

  it("is not a promise, so that it can be awaited and returned from an async function", async () => {
    const transport = recorder();
    const { remote } = new JSONRPCPeer(transport);
    assert.isUndefined(remote.then);
    assert.equal(await remote, remote);
    assert.equal(transport.sent.length, 0);
  });

  it("calls nothing when it is printed, compared or turned into text or a number", () => {
    const transport = recorder();
    const { remote } = new JSONRPCPeer(transport);
    Object.keys(remote);
    Object.prototype.toString.call(remote);
    for (const symbol of [Symbol.toPrimitive, Symbol.iterator, Symbol.asyncIterator, Symbol.toStringTag]) {
      assert.isUndefined(remote[symbol]);
    }
    assert.equal(JSON.stringify({ remote }), '{"remote":{}}');
    assert.equal(`${remote}`, "[object Object]");
    assert.isNaN(+remote);
    // Printers and matchers of test runners call these, where they are functions.
    for (const name of ["inspect", "asymmetricMatch", "hasAttribute", "$$typeof"]) assert.isUndefined(remote[name]);
    // React calls the iterator of older environments; Vue looks for the object behind its own proxies.
    for (const name of ["@@iterator", "@@observable", "__v_raw", "__v_isRef"]) assert.isUndefined(remote[name]);
    assert.isTrue(remote.__v_skip);
    assert.equal(transport.sent.length, 0);
  });

  it("cannot be given methods from here", () => {
    const { remote } = new JSONRPCPeer(recorder());
    assert.throws(() => {
      remote.build = () => {};
    }, TypeError);
  });

  it("has no methods of the peer under names that the language looks up, but for request()", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("toString", () => "served").method("hasOwnProperty", () => "served, too");
    const peer = new JSONRPCPeer(near);
    assert.equal(peer.remote.toString(), "[object Object]");
    assert.equal(await peer.request("toString"), "served");
    // biome-ignore lint/suspicious/noPrototypeBuiltins: it is a method of the peer.
    assert.equal(await peer.remote.hasOwnProperty(), "served, too");
  });
});

describe("one transport", () => {
  it("carries a client and a server, in either order of construction", async () => {
    for (const order of [
      [JSONRPCClient, JSONRPCServer],
      [JSONRPCServer, JSONRPCClient],
    ]) {
      const { near, far } = channel();
      new JSONRPCPeer(far).method("there", () => "there");
      const both = order.map((Role) => new Role(near));
      const client = both.find((role) => role instanceof JSONRPCClient);
      both.find((role) => role instanceof JSONRPCServer).method("here", () => "here");
      assert.equal(await client.request("there"), "there");
    }
  });

  it("carries two clients, whose calls do not mix", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("echo", (params) => params);
    const clients = [new JSONRPCClient(near), new JSONRPCClient(near)];
    const calls = [0, 1, 2, 3, 4, 5].map((n) => clients[n % 2].request("echo", [n]));
    assert.deepEqual(
      clients.map((client) => client.pending),
      [3, 3],
    );
    assert.deepEqual(await Promise.all(calls), [[0], [1], [2], [3], [4], [5]]);
  });

  it("carries two servers, of which the newer is asked first", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    new JSONRPCServer(transport).method("a", () => "old").method("b", () => "old");
    new JSONRPCServer(transport).method("a", () => "new");
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    remoteEnd.post({ jsonrpc: "2.0", method: "b", id: 2 });
    remoteEnd.post({ jsonrpc: "2.0", method: "c", id: 3 });
    const replies = [await remoteEnd.next(), await remoteEnd.next(), await remoteEnd.next()];
    assert.deepEqual(
      replies.map(({ result, error }) => result ?? error.code),
      ["new", "old", -32601],
    );
  });

  it("leaves requests unanswered while there is only a client on it: others may serve the channel", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    const call = client.request("b");
    assert.equal((await remoteEnd.next()).method, "b");
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "done" });
    assert.equal(await call, "done");
    assert.equal(remoteEnd.received.length, 1);
  });

  it("lets a client and a server on one port, each with a transport of its own, work side by side", async () => {
    const { port1, far } = channel();
    new JSONRPCPeer(far).method("there", () => "there");
    const client = new JSONRPCClient(portTransport(port1));
    new JSONRPCServer(portTransport(port1)).method("here", () => "here");
    assert.equal(await client.request("there"), "there");
  });
});

describe("handlers that call back", () => {
  for (const [kind, pair] of [
    ["a port", channel],
    ["a transport that delivers at once", loopback],
  ]) {
    it(`can call the caller, nested both ways, over ${kind}`, async () => {
      const { near, far } = pair();
      const here = new JSONRPCPeer(near);
      const there = new JSONRPCPeer(far);
      const countdown =
        (peer) =>
        async ([n]) =>
          n === 0 ? ["end"] : [n, ...(await peer.request("countdown", [n - 1]))];
      here.method("countdown", countdown(here));
      there.method("countdown", countdown(there));
      assert.deepEqual(await here.request("countdown", [20]), [...Array.from({ length: 20 }, (_, i) => 20 - i), "end"]);
    });

    it(`can ask the user before they answer, over ${kind}`, async () => {
      const { near, far } = pair();
      const harness = new JSONRPCPeer(near).method("askUser", ({ question }) => `${question} yes`);
      const agent = new JSONRPCPeer(far);
      agent.method("sendTask", async () => `user said: ${await agent.request("askUser", { question: "really?" })}`);
      assert.equal(await harness.request("sendTask"), "user said: really? yes");
    });

    it(`can destroy their own peer, over ${kind}`, async () => {
      const { near, far } = pair();
      const here = new JSONRPCPeer(near, { timeout: 50 });
      const there = new JSONRPCPeer(far).method("stop", () => {
        there.destroy();
        return "never sent";
      });
      const error = await here.request("stop").catch((error) => error);
      assert.deepEqual([error.code, error.data], [-32603, { reason: "destroyed" }]);
    });

    it(`can make calls while calls end, over ${kind}`, async () => {
      const { near, far } = pair();
      new JSONRPCServer(far).method("echo", ([n]) => n);
      const client = new JSONRPCClient(near);
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          client.request("echo", [n]).then((value) => client.request("echo", [value + 100])),
        ),
      );
      assert.deepEqual(
        results,
        Array.from({ length: 50 }, (_, n) => n + 100),
      );
      assert.equal(client.pending, 0);
    });
  }

  it("find the call ended when the answer came within send", async () => {
    const { near, far } = loopback();
    new JSONRPCServer(far).method("now", () => "at once");
    const client = new JSONRPCClient(near);
    const call = client.request("now");
    assert.equal(client.pending, 0);
    assert.equal(await call, "at once");
  });

  it("can register a method that is called right then", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near);
    const server = new JSONRPCServer(far).method("grow", () => void server.method("grown", () => "yes"));
    await here.request("grow");
    assert.equal(await here.request("grown"), "yes");
  });

  it("do not starve: a call of a handler that never ends leaves the others alone", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("never", () => new Promise(() => {})).method("echo", (params) => params);
    const client = new JSONRPCClient(near);
    const never = client.request("never", undefined, { timeout: 0 });
    never.catch(() => {});
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.isTrue(await isOpen(never));
    client.destroy();
  });
});
