// JSON-RPC over HTTP without a dialect.

import { assert } from "chai";
import { CallError, JSONRPCClient, RPCError } from "./support/portway.js";
import { isPending, rejection } from "./support/outcomes.js";
import { countedFetch, httpTransport, plainPeer, startSite } from "./support/sites.js";

const add = ({ message }, { result }) => result(message.params[0] + message.params[1]);

/** Asserts that a call fails by HTTP, and returns the error. */
async function httpError(promise, status) {
  const error = await rejection(promise);
  assert.instanceOf(error, CallError);
  assert.deepEqual([error.reason, error.data.status], ["http-failed", status], error.message);
  return error;
}

describe("JSON-RPC over HTTP", () => {
  it("sends a call as a POST with JSON, and returns the result of the response", async () => {
    const site = await startSite(add);
    const { peer } = plainPeer(site.url);
    assert.equal(await peer.request("add", [2, 3]), 5);
    const [{ method, headers, message }] = await site.log();
    assert.deepEqual(
      [method, headers["content-type"], headers.accept],
      ["POST", "application/json", "application/json"],
    );
    assert.deepEqual([message.jsonrpc, message.method, message.params], ["2.0", "add", [2, 3]]);
  });

  it("works with a client that has no server", async () => {
    const site = await startSite(add);
    const client = new JSONRPCClient(httpTransport(new URL(site.url)));
    assert.equal(await client.request("add", [2, 3]), 5);
    client.destroy();
  });

  it("works without a client: a transport passes on responses, and rejects for failures", async () => {
    const site = await startSite(({ message }, { result }) =>
      message.method === "fail" ? { status: 500 } : result(1),
    );
    const transport = httpTransport(site.url);
    const received = [];
    transport.onMessage((message) => received.push(message));
    await transport.send({ jsonrpc: "2.0", id: "a", method: "one" });
    assert.deepEqual(received, [{ jsonrpc: "2.0", id: "a", result: 1 }]);
    const error = await rejection(transport.send({ jsonrpc: "2.0", id: "b", method: "fail" }));
    assert.deepEqual([error.reason, error.data], ["http-failed", { status: 500, challenge: undefined }]);
    transport.destroy();
  });

  it("sends a batch as one POST, and finds each response in any order", async () => {
    const site = await startSite(({ message }) => {
      const calls = message.filter(({ id }) => id !== undefined).reverse();
      return { body: JSON.stringify(calls.map(({ id, params }) => ({ jsonrpc: "2.0", id, result: params[0] }))) };
    });
    const { peer } = plainPeer(site.url);
    const calls = [
      { method: "a", params: [1] },
      { method: "n", params: [], notify: true },
      { method: "b", params: [2] },
    ];
    const outcomes = await peer.batch(calls);
    assert.deepEqual(
      outcomes
        .filter(Boolean)
        .map(({ value }) => value)
        .filter((value) => value !== undefined),
      [1, 2],
    );
    assert.equal((await site.log()).length, 1);
  });

  it("fails only those calls of a batch that have no response", async () => {
    const site = await startSite(({ message }) => ({
      body: JSON.stringify([{ jsonrpc: "2.0", id: message[0].id, result: "first" }]),
    }));
    const { peer } = plainPeer(site.url);
    const [first, second] = await peer.batch([{ method: "a" }, { method: "b" }]);
    assert.equal(first.value, "first");
    assert.equal(second.reason.reason, "http-failed");
    assert.match(second.reason.message, /must be the response with the id/);
  });

  it("finds a response whose id is the number of the call in another form", async () => {
    const site = await startSite(({ message }) => ({
      body: `[${[message].flat().map(({ id, params }) => `{"jsonrpc":"2.0","id":${id}.0,"result":${params[0]}}`)}]`,
    }));
    const { peer } = plainPeer(site.url);
    assert.equal(await peer.request("a", [1]), 1);
    const outcomes = await peer.batch([
      { method: "a", params: [2] },
      { method: "b", params: [3] },
    ]);
    assert.deepEqual(
      outcomes.map(({ value }) => value),
      [2, 3],
    );
  });

  it("ends all calls of a batch by one error with the id null", async () => {
    const site = await startSite((_, { error }) => error(-32600, 400, null));
    const { peer } = plainPeer(site.url);
    const outcomes = await peer.batch([{ method: "a" }, { method: "b" }]);
    assert.deepEqual(
      outcomes.map(({ reason }) => reason.code),
      [-32600, -32600],
    );
  });

  it("sends a notification, and ignores the body of its response", async () => {
    const site = await startSite(() => ({ status: 202, body: "this is not JSON" }));
    const { peer, errors } = plainPeer(site.url);
    peer.notify("event", { n: 1 });
    assert.deepEqual((await site.request("event")).message, { jsonrpc: "2.0", method: "event", params: { n: 1 } });
    assert.deepEqual(errors, []);
  });

  it("reports a notification that the server refuses", async () => {
    const site = await startSite(() => ({ status: 500 }));
    const { peer, errors } = plainPeer(site.url);
    peer.notify("event");
    await site.request("event");
    assert.isFalse(
      await isPending(new Promise((resolve) => setInterval(() => errors.length > 0 && resolve(), 5)), 2_000),
    );
    assert.deepEqual([errors[0].reason, errors[0].data.status], ["http-failed", 500]);
  });

  for (const status of [200, 400, 500])
    it(`returns an error response with the status ${status} as an RPCError`, async () => {
      const site = await startSite((_, { error, data }) => error(-32000, data), { data: status });
      const error = await rejection(plainPeer(site.url).peer.request("a"));
      assert.instanceOf(error, RPCError);
      assert.equal(error.code, -32000);
    });

  for (const status of [401, 403])
    it(`reports the status ${status} with the challenge, whatever the body contains`, async () => {
      const site = await startSite(
        (_, { error, data }) => ({
          ...error(-32000, data),
          headers: { "www-authenticate": 'Bearer scope="tools"' },
        }),
        { data: status },
      );
      const error = await httpError(plainPeer(site.url).peer.request("a"), status);
      assert.equal(error.data.challenge, 'Bearer scope="tools"');
    });

  for (const [text, response, pattern] of [
    ["a status without an error", { status: 503, type: "text/html", body: "<p>" }, /HTTP status 503/],
    ["no body", { status: 200 }, /must have a body, got none with the status 200/],
    ["text that is not JSON", { type: "text/html", body: "<p>" }, /must be JSON/],
    ["a response with another id", { body: '{"jsonrpc":"2.0","id":"x","result":1}' }, /the id .*, got the id "x"/],
    ["a request", { body: '{"jsonrpc":"2.0","id":1,"method":"x"}' }, /must be the response/],
    ["bytes that are not UTF-8", { chunks: [[0x22, 0xff, 0x22]], type: "application/json" }, /must be UTF-8/],
  ])
    it(`fails a call whose response has ${text}, and only this call`, async () => {
      const site = await startSite(({ message }, { data, result }) => (message.method === "bad" ? data : result(1)), {
        data: response,
      });
      const { peer } = plainPeer(site.url);
      const error = await httpError(peer.request("bad"), response.status === 503 ? 503 : undefined);
      assert.match(error.message, pattern);
      assert.equal(await peer.request("good"), 1);
    });

  it("refuses a redirection, and does not send the request to the new URL", async () => {
    const site = await startSite(({ earlier }, { result }) =>
      earlier === 0 ? { status: 307, headers: { location: "/0/mcp" } } : result(1),
    );
    const error = await rejection(plainPeer(site.url).peer.request("a"));
    assert.match(error.message, /a redirection, which is not followed/);
    assert.equal((await site.log()).length, 1);
  });

  it("fails a call to a server that cannot be reached", async () => {
    const error = await httpError(plainPeer("http://127.0.0.1:1/").peer.request("a"), undefined);
    assert.match(error.message, /the server cannot be reached/);
    assert.exists(error.cause);
  });

  it("stops reading a body that is longer than maxMessage", async function () {
    this.timeout(60_000);
    const site = await startSite(() => ({ flood: true }));
    const { count, fetch } = countedFetch();
    const error = await httpError(plainPeer(site.url, { fetch }).peer.request("a", [], { timeout: 50_000 }), undefined);
    assert.match(error.message, /the body must have at most 10485760 bytes/);
    await site.request(({ isClosed }) => isClosed);
    assert.isAtMost(count.bytes, 10_485_760 + count.largestChunk);
  });

  it("does not send a message that is longer than maxMessage", async () => {
    const site = await startSite(add);
    const { peer } = plainPeer(site.url, { maxMessage: 100 });
    assert.instanceOf(await rejection(peer.request("add", ["x".repeat(100)])), RangeError);
    assert.equal(await peer.request("add", [1, 2]), 3);
    assert.equal((await site.log()).length, 1);
  });

  it("reads a compressed body", async () => {
    const site = await startSite((_, { result }) => result("compressed", { isCompressed: true }));
    assert.equal(await plainPeer(site.url).peer.request("a"), "compressed");
  });

  it("closes the request of a call that is aborted or times out, and sends nothing else", async () => {
    const site = await startSite(() => ({ isOpen: true }));
    const { peer } = plainPeer(site.url);
    const controller = new AbortController();
    const aborted = peer.request("a", [], { signal: controller.signal });
    await site.request("a");
    controller.abort();
    assert.equal((await rejection(aborted)).name, "AbortError");
    assert.equal((await rejection(peer.request("b", [], { timeout: 100 }))).reason, "timeout");
    for (const name of ["a", "b"]) await site.request((request) => request.name === name && request.isClosed);
    assert.deepEqual(await site.names(), ["a", "b"]);
  });

  it("closes all requests when the peer is destroyed", async () => {
    const site = await startSite(() => ({ isOpen: true }));
    const { peer } = plainPeer(site.url);
    const pending = rejection(peer.request("a"));
    await site.request("a");
    peer.destroy();
    assert.equal((await pending).reason, "destroyed");
    await site.request(({ isClosed }) => isClosed);
  });

  it("sends headers that an async function of the application returns for each request", async () => {
    const site = await startSite(add);
    let calls = 0;
    const headers = async () => ({ Authorization: `Bearer ${++calls}`, "X-Other": "a" });
    const { peer } = plainPeer(site.url, { headers });
    await peer.request("add", [1, 2]);
    await peer.request("add", [1, 2]);
    const log = await site.log();
    assert.deepEqual(
      log.map(({ headers }) => headers.authorization),
      ["Bearer 1", "Bearer 2"],
    );
    assert.equal(log[0].headers["x-other"], "a");
  });

  it("fails a call whose headers cannot be created, and sends nothing", async () => {
    const site = await startSite(add);
    const cause = new Error("no token");
    for (const headers of [() => Promise.reject(cause), { "x y": "z" }]) {
      const error = await httpError(plainPeer(site.url, { headers }).peer.request("a"), undefined);
      assert.match(error.message, /the headers of the application must be valid/);
      assert.exists(error.cause);
    }
    assert.deepEqual(await site.log(), []);
  });

  it("sends requests by the function of the option fetch", async () => {
    const site = await startSite(add);
    const urls = [];
    const own = (url, init) => fetch(url, (urls.push(url), init));
    assert.equal(await plainPeer(site.url, { fetch: own }).peer.request("add", [1, 2]), 3);
    assert.deepEqual(urls, [site.url]);
  });

  it("refuses invalid URLs and options", () => {
    for (const [url, options] of [
      ["ftp://localhost/"],
      ["http://user:secret@localhost/"],
      [1],
      ["http://localhost/", { header: {} }],
      ["http://localhost/", { headers: "x" }],
      ["http://localhost/", { fetch: 1 }],
      ["http://localhost/", { maxMessage: 0 }],
      ["http://localhost/", { maxRequests: 0 }],
      ["http://localhost/", { era: "new" }],
    ]) {
      let thrown;
      try {
        httpTransport(url, options);
      } catch (error) {
        thrown = error;
      }
      assert.match(thrown?.name, /TypeError|RangeError/, JSON.stringify([url, options]));
      assert.notInclude(thrown.message, "secret");
    }
  });
});
