// A client and a server together: a JSONRPCPeer, its `remote`, and several users of one transport.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, portTransport } from "./support/portway.js";
import { channel, loopback, scriptedChannel, recorder } from "./support/transports.js";
import { isPending, until } from "./support/outcomes.js";

describe("a peer", () => {
  it("makes calls and answers requests on one transport", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near).method("name", () => "here");
    const there = new JSONRPCPeer(far).method("name", () => "there");
    assert.deepEqual(await Promise.all([here.request("name"), there.request("name")]), ["there", "here"]);
  });

  it("distinguishes its own calls from requests of the other peer with the same ids", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near).method("double", ([n]) => n * 2);
    const there = new JSONRPCPeer(far).method("square", ([n]) => n * n);
    const results = await Promise.all(
      [3, 4, 5].flatMap((n) => [here.request("square", [n]), there.request("double", [n])]),
    );
    assert.deepEqual(results, [9, 6, 16, 8, 25, 10]);
  });

  it("sends and receives notifications", async () => {
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

  it("returns itself from method() and onNotify()", () => {
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

  it("throws a TypeError for names that begin with rpc.", () => {
    assert.throws(() => new JSONRPCPeer(recorder()).method("rpc.a", () => {}), TypeError, "rpc.");
  });
});

describe("the remote of a peer", () => {
  it("has a function for each method of the other peer", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("build", ({ entry }) => `built ${entry}`).method("a.b/c", () => "odd");
    const { remote } = new JSONRPCPeer(near);
    assert.equal(await remote.build({ entry: "app.ts" }), "built app.ts");
    assert.equal(await remote["a.b/c"](), "odd");
  });

  it("accepts the options of a call", async () => {
    const { remote } = new JSONRPCPeer(recorder());
    const error = await remote.slow({}, { timeout: 5 }).catch((error) => error);
    assert.equal(error.message, "JSON-RPC timeout: slow (id=1)");
  });

  it("has no `then`, so that an async function can await or return the remote", async () => {
    const transport = recorder();
    const { remote } = new JSONRPCPeer(transport);
    assert.isUndefined(remote.then);
    assert.equal(await remote, remote);
    assert.equal(transport.sent.length, 0);
  });

  it("makes no call when it is printed, compared or converted to a string or a number", () => {
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
    // Printers and matchers of test runners would call these members if they were functions.
    for (const name of ["inspect", "asymmetricMatch", "hasAttribute", "$$typeof"]) assert.isUndefined(remote[name]);
    // React and Vue would use these members if they existed.
    for (const name of ["@@iterator", "@@observable", "__v_raw", "__v_isRef"]) assert.isUndefined(remote[name]);
    assert.isTrue(remote.__v_skip);
    assert.equal(transport.sent.length, 0);
  });

  it("throws a TypeError if a member is assigned", () => {
    const { remote } = new JSONRPCPeer(recorder());
    assert.throws(() => {
      remote.build = () => {};
    }, TypeError);
  });

  it("makes no call for toString, because the language looks up this name; request() can call such a method", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("toString", () => "served").method("hasOwnProperty", () => "served, too");
    const peer = new JSONRPCPeer(near);
    assert.equal(peer.remote.toString(), "[object Object]");
    assert.equal(await peer.request("toString"), "served");
    // biome-ignore lint/suspicious/noPrototypeBuiltins: the peer has a method of this name.
    assert.equal(await peer.remote.hasOwnProperty(), "served, too");
  });
});

describe("a transport", () => {
  it("can have a client and a server, in either order of construction", async () => {
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

  it("can have two clients, and each call gets its own response", async () => {
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

  it("can have two servers; the newer server is searched for a method first", async () => {
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

  it("with a client and no server sends no error for requests, because another program may serve the port", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    remoteEnd.post({ jsonrpc: "2.0", method: "a", id: 1 });
    const call = client.request("b");
    assert.equal((await remoteEnd.next()).method, "b");
    remoteEnd.post({ jsonrpc: "2.0", id: 1, result: "done" });
    assert.equal(await call, "done");
    assert.equal(remoteEnd.received.length, 1);
  });

  it("can share its port with another transport: one has a client, the other has a server", async () => {
    const { port1, far } = channel();
    new JSONRPCPeer(far).method("there", () => "there");
    const client = new JSONRPCClient(portTransport(port1));
    new JSONRPCServer(portTransport(port1)).method("here", () => "here");
    assert.equal(await client.request("there"), "there");
  });
});

describe("handlers and callbacks", () => {
  for (const [kind, pair] of [
    ["a port", channel],
    ["a transport that delivers synchronously", loopback],
  ]) {
    it(`can make nested calls in both directions, over ${kind}`, async () => {
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

    it(`can await a call to the caller before they return, over ${kind}`, async () => {
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

    it(`can make further calls after a call has ended, over ${kind}`, async () => {
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

  it("can register a method that can be called immediately", async () => {
    const { near, far } = channel();
    const here = new JSONRPCPeer(near);
    const server = new JSONRPCServer(far).method("grow", () => void server.method("grown", () => "yes"));
    await here.request("grow");
    assert.equal(await here.request("grown"), "yes");
  });

  it("do not block other calls if one handler never ends", async () => {
    const { near, far } = channel();
    new JSONRPCServer(far).method("never", () => new Promise(() => {})).method("echo", (params) => params);
    const client = new JSONRPCClient(near);
    const never = client.request("never", undefined, { timeout: 0 });
    never.catch(() => {});
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.isTrue(await isPending(never));
    client.destroy();
  });
});

it("a call has ended when request() returns, if its response arrived during send()", async () => {
  const { near, far } = loopback();
  new JSONRPCServer(far).method("now", () => "at once");
  const client = new JSONRPCClient(near);
  const call = client.request("now");
  assert.equal(client.pending, 0);
  assert.equal(await call, "at once");
});
