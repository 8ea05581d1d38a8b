// `errorData` is an option of a server. It selects the `data` of error responses.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, RPCError } from "./support/portway.js";
import { connectPair } from "./support/connections.js";
import { channel, scriptedChannel } from "./support/transports.js";
import { isPending, rejection, until } from "./support/outcomes.js";
import { channels } from "./support/wipc.js";

class NotFound extends Error {
  name = "NotFound";
  status = 404;
  token = "s3cret";
}

const status = (error) => error.status && { status: error.status };
const notFound = { code: -32603, message: "x", data: { name: "NotFound" } };
const fail = () => Promise.reject(new NotFound("x"));

/**
 * Creates a server with the option `errorData`. The test is its peer. `errorDataCalls` contains the argument of each
 * call of `errorData`, and `reported` contains the argument of each call of `onError`.
 */
function serverWith(errorData, methods = { fail }) {
  const { transport, remoteEnd } = scriptedChannel();
  const errorDataCalls = [];
  const reported = [];
  const server = new JSONRPCServer(transport, {
    errorData: (error) => (errorDataCalls.push(error), errorData(error)),
    onError: (error) => reported.push(error),
  });
  for (const [name, handler] of Object.entries(methods)) server.method(name, handler);
  /** Sends a request, and returns the error object of the response. */
  const answer = async (method, params) => {
    remoteEnd.post({ jsonrpc: "2.0", method, params, id: 1 });
    return (await remoteEnd.next()).error;
  };
  return { transport, remoteEnd, server, errorDataCalls, reported, answer };
}

describe("errorData", () => {
  it("selects the data that is sent instead of the default data", async () => {
    const { answer, reported } = serverWith(status);
    assert.deepEqual(await answer("fail"), { ...notFound, data: { status: 404 } });
    assert.deepEqual(reported, []);
  });

  it("selects the default data by returning undefined, and the data null by returning null", async () => {
    assert.deepEqual(await serverWith(() => undefined).answer("fail"), notFound);
    assert.deepEqual(await serverWith(() => null).answer("fail"), { ...notFound, data: null });
  });

  it("receives the value that the handler has thrown, even if this value is not an error", async () => {
    for (const thrown of [new RPCError(5, "x", { a: 1 }), "text", null, undefined, { a: 1 }]) {
      const { errorDataCalls, answer } = serverWith(() => 7, { fail: () => Promise.reject(thrown) });
      assert.equal((await answer("fail")).data, 7);
      assert.deepEqual(errorDataCalls, [thrown]);
    }
  });

  it("may replace the error's own data, or return undefined to keep this data", async () => {
    const own = { fail: () => Promise.reject(Object.assign(new Error("x"), { data: "s3cret" })) };
    assert.deepEqual(await serverWith(() => null, own).answer("fail"), { code: -32603, message: "x", data: null });
    const chosen = { fail: () => Promise.reject(new RPCError(5, "x", { a: 1 })) };
    assert.deepEqual(await serverWith(status, chosen).answer("fail"), { code: 5, message: "x", data: { a: 1 } });
  });

  it("causes a report to onError if it throws, and the default data is sent", async () => {
    for (const problem of [new Error("oh no"), undefined]) {
      const { answer, reported } = serverWith(() => {
        throw problem;
      });
      assert.deepEqual(await answer("fail"), notFound);
      assert.deepEqual(reported, [problem]);
    }
  });

  it("causes a report to onError if it is not a function, and the default data is sent", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const reported = [];
    new JSONRPCServer(transport, { errorData: {}, onError: (error) => reported.push(error) }).method("fail", fail);
    remoteEnd.post({ jsonrpc: "2.0", method: "fail", id: 1 });
    assert.deepEqual((await remoteEnd.next()).error, notFound);
    assert.deepEqual(
      reported.map(({ name }) => name),
      ["TypeError"],
    );
  });

  it("causes an error response without data if it returns an uncloneable value", async () => {
    for (const data of [() => {}, Promise.resolve(1)]) {
      assert.deepEqual(await serverWith(() => data).answer("fail"), { code: -32603, message: "x" });
    }
  });

  it("causes a report to onError if it returns a promise that rejects, and the error is sent without data", async () => {
    const problem = new Error("oh no");
    const { answer, reported } = serverWith(async () => {
      throw problem;
    });
    assert.deepEqual(await answer("fail"), { code: -32603, message: "x" });
    await until(() => reported.length > 0);
    assert.deepEqual(reported, [problem]);
  });

  it("is also called if the handler of a stream throws", async () => {
    const { answer } = serverWith(status, {
      async *fail() {
        throw new NotFound("x");
      },
    });
    assert.deepEqual(await answer("rpc.stream", { method: "fail", credit: 1 }), { ...notFound, data: { status: 404 } });
  });

  it("is not called for a cancelled request, an unknown method, or a notification", async () => {
    const { remoteEnd, errorDataCalls, answer, reported, server } = serverWith(() => 7, {
      wait: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    server.onNotify("note", fail);
    assert.notProperty(await answer("nowhere"), "data");
    remoteEnd.post({ jsonrpc: "2.0", method: "wait", id: "a" });
    remoteEnd.post({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "a" } });
    assert.deepEqual(await remoteEnd.next(), {
      jsonrpc: "2.0",
      error: { code: -32800, message: "Request cancelled" },
      id: "a",
    });
    remoteEnd.post({ jsonrpc: "2.0", method: "note" });
    await until(() => reported.length > 0);
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), errorDataCalls], [[], []]);
  });

  it("is not called after its server has been destroyed", async () => {
    let reject;
    const { errorDataCalls, server, transport, remoteEnd } = serverWith(() => 7, {
      wait: () => new Promise((_, no) => (reject = no)),
    });
    // The second server keeps the link open.
    new JSONRPCServer(transport);
    remoteEnd.post({ jsonrpc: "2.0", method: "wait", id: 1 });
    await until(() => reject !== undefined);
    server.destroy();
    reject(new NotFound("x"));
    await remoteEnd.unreadBeforeResponse();
    assert.deepEqual(errorDataCalls, []);
  });

  it("is called only for the handlers of its own server if several servers share a transport", async () => {
    const { transport, answer, server } = serverWith(() => "first", { one: fail });
    new JSONRPCServer(transport, { errorData: () => "second" }).method("two", fail);
    new JSONRPCServer(transport).method("three", fail);
    assert.equal((await answer("one")).data, "first");
    assert.equal((await answer("two")).data, "second");
    assert.deepEqual((await answer("three")).data, { name: "NotFound" });
    server.destroy();
  });

  it("may destroy its server", async () => {
    const { near, far } = channel();
    let times = 0;
    const server = new JSONRPCServer(far, { errorData: () => (times++, server.destroy()) }).method("fail", fail);
    const client = new JSONRPCClient(near);
    const call = rejection(client.request("fail"));
    await until(() => times > 0);
    await isPending(call);
    client.destroy();
    assert.instanceOf(await call, Error);
    assert.equal(times, 1);
  });

  it("also works in a JSONRPCPeer, in connect() and over WIPC", async () => {
    const { near, far } = channel();
    new JSONRPCPeer(far, { errorData: status }).method("fail", fail);
    assert.deepEqual((await rejection(new JSONRPCPeer(near).request("fail"))).data, { status: 404 });
    const [peer] = await connectPair({}, { errorData: status, methods: { fail } });
    assert.deepEqual((await rejection(peer.request("fail"))).data, { status: 404 });
    const { host, guest } = channels();
    new JSONRPCServer(guest.transport(), { errorData: status }).method("fail", fail);
    assert.deepEqual((await rejection(new JSONRPCClient(host.transport()).request("fail"))).data, { status: 404 });
  });
});
