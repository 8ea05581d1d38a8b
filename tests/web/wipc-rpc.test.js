// JSON-RPC 2.0 in CALL frames.

import { assert } from "chai";
import { CallError, JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError } from "./support/portway.js";
import {
  CALL,
  CLOSE,
  DATA,
  OPEN,
  WipcChannel,
  channels,
  concat,
  encodeWipc,
  pipes,
  scriptedPipe,
  text,
} from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { deferred, isPending, rejection, until } from "./support/outcomes.js";
import { printed } from "./support/console.js";

/** Creates a server on a channel. The test acts as the peer. */
function served(options, rpc) {
  const pipe = scriptedPipe(options);
  const server = new JSONRPCServer(pipe.channel.transport(), { onError() {}, ...rpc });
  server
    .method("echo", (params) => params)
    .method("fail", () => {
      throw new RPCError(-32001, "no");
    });
  return { ...pipe, pipe, server };
}

const error = (code, message, id) => ({ jsonrpc: "2.0", error: { code, message }, id });

describe("JSON-RPC over WIPC", () => {
  it("works in both directions at once, beside DATA and OPEN", async () => {
    const seen = [];
    const { host, guest } = channels(
      { onData: (payload) => seen.push(text(payload)) },
      { onOpen: () => seen.push("open"), onCall: () => seen.push("never: it is for the transport") },
    );
    const near = new JSONRPCPeer(host.transport()).method("name", () => "host");
    const far = new JSONRPCPeer(guest.transport())
      .method("name", () => "guest")
      .method("ask", async () => [await far.remote.name()]);
    host.send(OPEN);
    guest.send(DATA, "data");
    assert.deepEqual(await Promise.all([near.remote.name(), far.remote.name(), near.remote.ask()]), [
      "guest",
      "host",
      ["host"],
    ]);
    assert.equal(near.pending, 0);
    await until(() => seen.length === 2);
    assert.sameMembers(seen, ["open", "data"]);
  });

  it("supports errors, notifications, progress, cancellation, streams and batches", async () => {
    const { host, guest } = channels();
    const noted = [];
    new JSONRPCServer(guest.transport())
      .method("add", ([a, b]) => a + b)
      .method("fail", () => {
        throw new RPCError(-32001, "no", { why: "because" });
      })
      .method("steps", (_, { progress }) => [1, 2, 3].forEach((step) => progress(step)))
      .method(
        "hang",
        (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      )
      .method("count", async function* ([to]) {
        for (let n = 1; n <= to; n++) yield n;
      })
      .onNotify("note", ([n]) => void noted.push(n));
    const client = new JSONRPCClient(host.transport());
    client.notify("note", [1]);
    const { code, data } = await rejection(client.request("fail"));
    assert.deepEqual([code, data], [-32001, { why: "because" }]);
    const steps = [];
    assert.isNull(await client.request("steps", [], { onProgress: (value) => steps.push(value) }));
    assert.deepEqual(steps, [1, 2, 3]);
    const controller = new AbortController();
    const hanging = rejection(client.request("hang", [], { signal: controller.signal }));
    controller.abort(new Error("enough"));
    assert.equal((await hanging).message, "enough");
    const items = [];
    for await (const item of client.stream("count", [40])) items.push(item);
    assert.lengthOf(items, 40);
    const [three, none, seven] = await client.batch([
      { method: "add", params: [1, 2] },
      { method: "note", params: [2], notify: true },
      { method: "add", params: [3, 4] },
    ]);
    assert.deepEqual([three.value, none.value, seven.value], [3, undefined, 7]);
    assert.deepEqual(noted, [1, 2]);
  });

  it("sends an error in place of a result or item that JSON cannot express, also in a batch", async () => {
    const { host, guest } = channels();
    const results = { fn: () => {}, symbol: Symbol("s"), unwritten: { toJSON() {} }, date: new Date(0) };
    const server = new JSONRPCServer(guest.transport()).method("items", async function* () {
      yield 1;
      yield () => {};
    });
    for (const [name, result] of Object.entries(results)) server.method(name, () => result);
    const client = new JSONRPCClient(host.transport());
    const names = Object.keys(results);
    const outcome = ({ value, reason }) => value ?? [reason.code, reason.message.replace(/: .*/, "")];
    const expected = [
      ...names.slice(0, 3).map((name) => [-32603, `The result of "${name}" cannot be sent`]),
      "1970-01-01T00:00:00.000Z",
    ];
    assert.deepEqual((await Promise.allSettled(names.map((name) => client.request(name)))).map(outcome), expected);
    assert.deepEqual((await client.batch(names.map((method) => ({ method })))).map(outcome), expected);
    const items = client.stream("items");
    assert.deepEqual(await items.next(), { done: false, value: 1 });
    assert.equal((await rejection(items.next())).code, -32603);
  });

  it("has one transport for all callers of transport()", () => {
    const { host } = channels();
    assert.equal(host.transport(), host.transport());
  });

  it("sends the calls of one turn in two frames if coalesce is true, and the responses also in two frames", async () => {
    const caller = scriptedPipe();
    const client = new JSONRPCClient(caller.channel.transport(), { coalesce: true });
    const calls = [1, 2, 3].map((n) => client.request("double", [n]));
    const request = (id) => ({ jsonrpc: "2.0", method: "double", params: [id], id });
    await until(() => caller.messages.length === 2, "the calls must be sent");
    assert.deepEqual(caller.messages, [request(1), [request(2), request(3)]]);
    const { pipe, server } = served({}, { coalesce: true });
    server.method("double", ([n]) => 2 * n);
    await pipe.post(CALL, JSON.stringify([1, 2, 3].map(request)));
    const response = (id) => ({ jsonrpc: "2.0", result: 2 * id, id });
    await until(() => pipe.messages.length === 2, "the responses must be sent");
    assert.deepEqual(pipe.messages, [response(1), [response(2), response(3)]]);
    for (const message of pipe.messages) await caller.post(CALL, JSON.stringify(message));
    assert.deepEqual(await Promise.all(calls), [2, 4, 6]);
  });

  it("sends the calls of one turn in a frame each if coalesce is missing", async () => {
    const pipe = scriptedPipe();
    const client = new JSONRPCClient(pipe.channel.transport());
    for (const n of [1, 2, 3]) client.request("double", [n]).catch(() => {});
    await until(() => pipe.messages.length === 3, "the calls must be sent");
    assert.deepEqual(
      pipe.messages.map(({ id }) => id),
      [1, 2, 3],
    );
  });

  it("transmits nested calls and their responses if coalesce is true", async () => {
    const { host, guest } = channels();
    const near = new JSONRPCPeer(host.transport(), { coalesce: true }).method("double", ([n]) => 2 * n);
    const far = new JSONRPCPeer(guest.transport(), { coalesce: true }).method(
      "double",
      async ([n]) => (await far.request("double", [n])) + 1,
    );
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => near.request("double", [n])));
    assert.deepEqual(
      results,
      Array.from({ length: 50 }, (_, n) => 2 * n + 1),
    );
  });

  it("buffers the calls that arrive before a server exists", async () => {
    const pipe = scriptedPipe();
    await pipe.post(CALL, JSON.stringify({ jsonrpc: "2.0", method: "echo", params: [1], id: "early" }));
    await pipe.post(DATA);
    new JSONRPCServer(pipe.channel.transport()).method("echo", (params) => params);
    await until(() => pipe.messages.length === 1);
    assert.deepEqual(pipe.messages, [{ jsonrpc: "2.0", result: [1], id: "early" }]);
  });

  it("makes a call reject if it has a transfer list", async () => {
    const { host } = channels();
    const { buffer } = new Uint8Array(1);
    const failure = await rejection(
      new JSONRPCClient(host.transport()).request("a", { buffer }, { transfer: [buffer] }),
    );
    assert.instanceOf(failure, TypeError);
    assert.equal(buffer.byteLength, 1);
  });

  it("makes a call reject if JSON cannot express its params, and later calls work", async () => {
    const { host, guest } = channels();
    new JSONRPCServer(guest.transport()).method("echo", (params) => params);
    const client = new JSONRPCClient(host.transport());
    assert.instanceOf(await rejection(client.request("echo", [1n])), TypeError);
    assert.deepEqual(await client.request("echo", [1]), [1]);
  });
});

describe("a CALL frame", () => {
  for (const [what, payload] of [
    ["bytes that are not UTF-8", new Uint8Array([0xff])],
    ["text that is not JSON", "hello"],
    ["no payload", ""],
    ["half a message", '{"jsonrpc":"2.0",'],
  ]) {
    it(`with ${what} gets the error -32700, and the server still works`, async () => {
      const { pipe } = served();
      await pipe.post(CALL, payload);
      await pipe.post(CALL, '{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}');
      await until(() => pipe.messages.length === 2);
      assert.deepEqual(pipe.messages, [error(-32700, "Parse error", null), { jsonrpc: "2.0", result: [1], id: 1 }]);
    });
  }

  it("that is not JSON is reported by a peer that only makes calls, and gets no response", async () => {
    const pipe = scriptedPipe();
    const errors = [];
    const client = new JSONRPCClient(pipe.channel.transport(), { onError: ({ message }) => errors.push(message) });
    const call = client.request("a");
    await pipe.post(CALL, "hello");
    await pipe.post(CALL, '{"jsonrpc":"2.0","result":5,"id":1}');
    assert.equal(await call, 5);
    assert.lengthOf(errors, 1);
    assert.include(errors[0], "CALL frame");
    assert.lengthOf(pipe.messages, 1);
  });

  for (const [what, sent, id] of [
    ["a request without a version", { method: "echo", id: 7 }, 7],
    ["a request of another version", { jsonrpc: "1.0", method: "echo", id: "x" }, "x"],
    ["a notification without a version", { method: "echo" }, null],
    ["a number", 5, null],
    ["null", null, null],
    ["an empty object", {}, null],
    ["an empty array", [], null],
  ]) {
    it(`with ${what} gets the error -32600`, async () => {
      const { pipe } = served();
      await pipe.post(CALL, JSON.stringify(sent));
      await pipe.post(CALL, '{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}');
      await until(() => pipe.messages.length === 2);
      const [
        {
          error: { code, message },
          id: responseId,
        },
        right,
      ] = pipe.messages;
      assert.deepEqual([code, message, responseId, right.result], [-32600, "Invalid Request", id, [1]]);
    });
  }

  it("with a batch gets a response for each request, even if all responses are too long for one message", async () => {
    const { host, guest } = channels();
    const long = "x".repeat(1 << 20);
    new JSONRPCServer(guest.transport()).method("long", () => long);
    const client = new JSONRPCClient(host.transport());
    const { stringify } = JSON;
    let writtenLength = 0;
    JSON.stringify = (...args) => {
      const text = stringify(...args);
      writtenLength += text.length;
      return text;
    };
    afterThisTest(() => (JSON.stringify = stringify));
    const outcomes = await client.batch(Array(20).fill({ method: "long" }));
    assert.isTrue(outcomes.every(({ value }) => value === long));
    assert.isBelow(writtenLength, 50 << 20);
  });

  it("with a batch gets a response for each element, except for an element that is a response", async () => {
    const { pipe } = served();
    await pipe.post(
      CALL,
      JSON.stringify([
        1,
        { method: "echo", id: 7 },
        { jsonrpc: "2.0", method: "echo", params: [1], id: 8 },
        { id: 9, result: 1 },
        [],
      ]),
    );
    await pipe.post(CALL, '{"jsonrpc":"2.0","method":"echo","params":[2],"id":10}');
    await until(() => pipe.messages.length === 2);
    assert.deepEqual(pipe.messages[1], { jsonrpc: "2.0", result: [2], id: 10 });
    const answers = pipe.messages[0].map(({ id, result, error }) => [id, result ?? error.code]);
    assert.sameDeepMembers(answers, [
      [null, -32600],
      [7, -32600],
      [8, [1]],
      [null, -32600],
    ]);
  });

  it("with a response without a version is ignored", async () => {
    const pipe = scriptedPipe();
    const peer = new JSONRPCPeer(pipe.channel.transport()).method("echo", (params) => params);
    const call = peer.request("a");
    await pipe.post(CALL, '{"result":1,"id":1}');
    await pipe.post(CALL, '[{"result":1,"id":1}]');
    await pipe.post(CALL, '{"jsonrpc":"2.0","result":2,"id":1}');
    assert.equal(await call, 2);
    assert.lengthOf(pipe.messages, 1);
  });
});

describe("pending calls", () => {
  for (const [how, end, causeMessage, roles = ["host", "guest"]] of [
    ["the stream ends", (pipe) => pipe.end(), "the stream has ended"],
    ["the stream fails", (pipe) => pipe.fail(new Error("cut")), "cut"],
    ["the host sends CLOSE", (pipe) => pipe.post(CLOSE), "the peer has closed the channel", ["guest"]],
  ]) {
    for (const role of roles) {
      it(`of a ${role} end at once if ${how}, and later calls are refused`, async () => {
        const pipe = scriptedPipe({ role });
        const client = new JSONRPCClient(pipe.channel.transport());
        const pendingCall = rejection(client.request("a", [], { timeout: 0 }));
        await until(() => pipe.messages.length === 1);
        const start = performance.now();
        end(pipe);
        const { reason, cause } = await pendingCall;
        assert.deepEqual([reason, cause.message], ["peer-gone", causeMessage]);
        assert.isBelow(performance.now() - start, 500);
        assert.instanceOf(await rejection(client.request("b")), CallError);
      });
    }
  }

  it("may still get a response after a guest has sent CLOSE, and end when the output of the guest ends", async () => {
    const pipe = scriptedPipe();
    const client = new JSONRPCClient(pipe.channel.transport());
    const answeredCall = client.request("a", [], { timeout: 0 });
    const pendingCall = rejection(client.request("b", [], { timeout: 0 }));
    await until(() => pipe.messages.length === 2);
    await pipe.postBytes(concat([encodeWipc(CLOSE), encodeWipc(CALL, '{"jsonrpc":"2.0","result":"last","id":1}')]));
    assert.equal(await answeredCall, "last");
    assert.equal((await rejection(client.request("c"))).name, "WipcClosedError");
    pipe.end();
    const { reason, cause } = await pendingCall;
    assert.deepEqual([reason, cause.message], ["peer-gone", "the peer has closed the channel"]);
  });

  it("end two seconds after a guest has sent CLOSE, if the guest does not end its output", async () => {
    const pipe = scriptedPipe();
    const client = new JSONRPCClient(pipe.channel.transport());
    const pendingCall = rejection(client.request("a", [], { timeout: 0 }));
    await until(() => pipe.messages.length === 1);
    const start = performance.now();
    await pipe.post(CLOSE);
    assert.equal((await pendingCall).reason, "peer-gone");
    assert.approximately(performance.now() - start, 2_000, 500);
  });

  it("end within two seconds after the peer has stopped reading", async () => {
    const [near, far] = pipes();
    const channel = new WipcChannel(near);
    afterThisTest(() => channel.destroy());
    const client = new JSONRPCClient(channel.transport());
    const pendingCall = rejection(client.request("a", [], { timeout: 0 }));
    await far.readable.cancel();
    const start = performance.now();
    assert.equal((await pendingCall).reason, "peer-gone");
    assert.isBelow(performance.now() - start, 2_000);
  });

  it("do not exist on a channel that has ended: a new call is refused at once", async () => {
    const pipe = scriptedPipe();
    pipe.end();
    await pipe.channel.ended;
    const client = new JSONRPCClient(pipe.channel.transport());
    const { name, reason } = await rejection(client.request("a", [], { timeout: 0 }));
    assert.include(["ended", "peer-gone"], reason, name);
  });

  it("may still get a response after the host itself has sent CLOSE", async () => {
    const pipe = scriptedPipe();
    const client = new JSONRPCClient(pipe.channel.transport());
    const call = client.request("a");
    pipe.channel.close();
    await until(() => pipe.frames.length === 2);
    await pipe.post(CALL, '{"jsonrpc":"2.0","result":"last","id":1}');
    assert.equal(await call, "last");
    assert.equal((await rejection(client.request("b"))).name, "WipcClosedError");
  });
});

describe("running requests", () => {
  it("still get a response from a guest that has received CLOSE, but not from a host", async () => {
    for (const role of ["guest", "host"]) {
      const { pipe, server } = served({ role });
      const gate = deferred();
      let signal;
      server.method("slow", (_, context) => {
        ({ signal } = context);
        return gate.promise;
      });
      await pipe.post(CALL, '{"jsonrpc":"2.0","method":"slow","id":1}');
      await pipe.post(CLOSE);
      await until(() => signal !== undefined);
      let isIdle = false;
      if (role === "guest") {
        pipe.channel.idle().then(() => (isIdle = true));
        assert.isFalse(signal.aborted);
        assert.isTrue(await isPending(pipe.channel.idle()));
      } else {
        await until(() => signal.aborted);
      }
      gate.resolve("done");
      if (role === "host") {
        await pipe.channel.idle();
        await until(() => pipe.output.isEnded);
        assert.deepEqual(pipe.frames, []);
        continue;
      }
      await until(() => isIdle);
      await until(() => pipe.messages.length === 1);
      assert.deepEqual(pipe.messages, [{ jsonrpc: "2.0", result: "done", id: 1 }]);
    }
  });

  it("count before a server exists, and stop counting if only a client is created", async () => {
    const pipe = scriptedPipe({ role: "guest" });
    const request = '{"jsonrpc":"2.0","method":"echo","id":1}';
    await pipe.post(CALL, request);
    await pipe.post(CLOSE);
    pipe.end();
    await pipe.channel.ended;
    const idle = pipe.channel.idle();
    assert.isTrue(await isPending(idle));
    new JSONRPCClient(pipe.channel.transport());
    await idle;
    assert.deepEqual(pipe.messages, []);
  });

  it("all count, even if they are part of a batch or their ids differ only in their type", async () => {
    const { pipe, server } = served({ role: "guest" });
    const gates = [deferred(), deferred(), deferred()];
    let next = 0;
    server.method("slow", () => gates[next++].promise);
    const slowRequest = { jsonrpc: "2.0", method: "slow", id: 1 };
    await pipe.post(CALL, JSON.stringify(slowRequest));
    await pipe.post(
      CALL,
      JSON.stringify([
        { ...slowRequest, id: "1" },
        { ...slowRequest, id: 2 },
      ]),
    );
    await until(() => next === 3);
    const idle = pipe.channel.idle();
    for (const gate of gates) {
      assert.isTrue(await isPending(idle));
      gate.resolve();
    }
    await idle;
  });

  it("get no response after the channel is closed, and cause no error", async () => {
    const { pipe, server } = served();
    const gate = deferred();
    let isRunning = false;
    server.method("slow", () => {
      isRunning = true;
      return gate.promise;
    });
    await pipe.post(CALL, '{"jsonrpc":"2.0","method":"slow","id":1}');
    await until(() => isRunning);
    const lines = await printed(async () => {
      pipe.channel.close();
      gate.resolve();
      await until(() => pipe.output.isEnded);
    });
    assert.deepEqual(lines, []);
    assert.deepEqual(pipe.frames, [[CLOSE, ""]]);
  });
});

it("destroy() of the last user of the transport closes the channel", async () => {
  const pipe = scriptedPipe();
  const peer = new JSONRPCPeer(pipe.channel.transport());
  const pendingCall = rejection(peer.request("a"));
  peer.destroy();
  assert.equal((await pendingCall).reason, "destroyed");
  await until(() => pipe.output.isEnded);
  assert.deepEqual(pipe.frames.at(-1), [CLOSE, ""]);
});
