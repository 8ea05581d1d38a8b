// Responses of MCP servers over HTTP that violate the rules. Each such response ends only its own call.

import { assert } from "chai";
import { CallError } from "./support/portway.js";
import { rejection, until } from "./support/outcomes.js";
import { connectMcp, countedFetch, startSite } from "./support/sites.js";

/** Connects to a site that answers `bad` with a response, and every other call with 1. */
async function connectTo(response, options) {
  const site = await startSite(
    ({ name }, { data, legacy, result }) => legacy() ?? (name === "bad" ? data : result({ good: true })),
    { data: response },
  );
  return { site, ...(await connectMcp(site.url, options)) };
}

/** After an error or the response, a transport reads a body for a short time, and at most maxMessage bytes. */
function assertBounded({ bytes, largestChunk }) {
  assert.isAtMost(bytes, 2 * (10_485_760 + largestChunk));
}

describe("An MCP server over HTTP", () => {
  for (const [text, response, pattern] of [
    ["202 without a body", { status: 202, type: null }, /must have a body, got none with the status 202/],
    ["202 with a body", { status: 202, body: "{}" }, /must be the response/],
    ["HTML", { type: "text/html", body: "<p>" }, /must be application\/json or text\/event-stream, got "text\/html"/],
    ["text that is not JSON", { body: "{" }, /must be JSON/],
    ["a response with another id", { body: '{"jsonrpc":"2.0","id":99,"result":{}}' }, /must be the response .*id 99/],
    ["an empty array", { body: "[]" }, /must be the response/],
    ["a stream without the response", { chunks: ['data: {"jsonrpc":"2.0","id":99,"result":{}}\n\n'] }, /ended before/],
    ["a stream with text that is not JSON", { chunks: ["data: {\n\n"] }, /ended before/],
    ["a stream that is cut in an event", { chunks: ['data: {"jsonrpc"'] }, /ended before/],
    ["a redirection", { status: 302, headers: { location: "/0/mcp" } }, /a redirection, which is not followed/],
    ["the status 500 and HTML", { status: 500, type: "text/html", body: "<p>" }, /the HTTP status 500/],
    ["the status 500 and another id", { status: 500, body: '{"jsonrpc":"2.0","id":9,"result":1}' }, /status 500/],
  ])
    it(`ends only one call if the server answers this call with ${text}`, async () => {
      const { peer } = await connectTo(response);
      const error = await rejection(peer.request("bad"));
      assert.instanceOf(error, CallError);
      assert.equal(error.reason, "http-failed");
      assert.match(error.message, pattern);
      assert.deepEqual(await peer.request("good"), { good: true });
    });

  it("may answer with an array of messages", async () => {
    const site = await startSite(({ name, message }, { legacy, response }) => {
      if (name !== "tools/call") return legacy();
      const notification = { jsonrpc: "2.0", method: "notifications/message", params: { n: 1 } };
      return { body: JSON.stringify([notification, response({ ok: true })]) };
    });
    const { peer } = await connectMcp(site.url);
    const values = [];
    peer.onNotify("notifications/message", ({ n }) => values.push(n));
    assert.deepEqual(await peer.request("tools/call", { name: "a" }), { ok: true });
    assert.deepEqual(values, [1]);
  });

  it("causes a timeout, and its stream is closed, if the server never answers", async () => {
    const { peer, site } = await connectTo({ chunks: [": open\n\n"], isOpen: true });
    assert.equal((await rejection(peer.request("bad", {}, { timeout: 200 }))).reason, "timeout");
    await site.request(({ name, isClosed }) => name === "bad" && isClosed);
    await site.request("notifications/cancelled");
    assert.deepEqual(await peer.request("good"), { good: true });
  });

  for (const [text, response] of [
    ["a body", { flood: true }],
    ["an event", { flood: true, chunks: ["data: "] }],
  ])
    it(`is disconnected after more than maxMessage bytes if it sends ${text} of 5 GB`, async function () {
      this.timeout(60_000);
      const { count, fetch } = countedFetch();
      const { peer, site } = await connectTo(response, { fetch });
      const error = await rejection(peer.request("bad", {}, { timeout: 50_000 }));
      assert.match(error.message, /must have at most 10485760 bytes|ended before/);
      await site.request(({ name, isClosed }) => name === "bad" && isClosed);
      assertBounded(count);
      assert.deepEqual(await peer.request("good"), { good: true });
    });

  it("is disconnected if it sends 5 GB after the response to a call", async function () {
    this.timeout(60_000);
    const site = await startSite(
      ({ name }, { event, legacy, response }) =>
        legacy() ?? { flood: true, chunks: [event(response({ isFlood: name === "bad" })), "data: "] },
    );
    const { count, fetch } = countedFetch();
    const { peer } = await connectMcp(site.url, { fetch });
    assert.deepEqual(await peer.request("bad", {}, { timeout: 50_000 }), { isFlood: true });
    await site.request(({ name, isClosed }) => name === "bad" && isClosed);
    assertBounded(count);
  });

  it("may send an event of maxMessage bytes, but ends the call by a longer event", async () => {
    const site = await startSite(({ name, message }, { legacy, event, response }) => {
      if (name !== "sized") return legacy();
      const empty = JSON.stringify(response({ text: "" })).length;
      return { chunks: [event(response({ text: "x".repeat(message.params.length - empty) }))] };
    });
    const { peer } = await connectMcp(site.url, { maxMessage: 2_000 });
    assert.isString((await peer.request("sized", { length: 2_000 })).text);
    const error = await rejection(peer.request("sized", { length: 2_001 }));
    assert.match(error.message, /an event must have at most 2000 bytes/);
  });

  it("may compress its responses", async () => {
    const site = await startSite(({ name }, { legacy, result }) =>
      name === "a" ? result({ n: 1 }, { isCompressed: true }) : legacy(),
    );
    const { peer } = await connectMcp(site.url);
    assert.deepEqual(await peer.request("a"), { n: 1 });
  });

  for (const status of [401, 403])
    it(`causes an error with the challenge if the server denies a call with ${status}`, async () => {
      const { peer } = await connectTo({ status, headers: { "www-authenticate": "Bearer realm=a" }, body: "{}" });
      const error = await rejection(peer.request("bad"));
      assert.deepEqual([error.reason, error.data], ["http-failed", { status, challenge: "Bearer realm=a" }]);
    });

  it("has at most maxRequests pending calls: a further call is refused, and is not sent", async () => {
    const { peer, site } = await connectTo({ isOpen: true }, { maxRequests: 2 });
    const pending = [1, 2].map(() => rejection(peer.request("bad")));
    const error = await rejection(peer.request("good"));
    assert.equal(error.reason, "too-many-calls");
    peer.destroy();
    assert.deepEqual(
      (await Promise.all(pending)).map(({ reason }) => reason),
      ["destroyed", "destroyed"],
    );
    assert.notInclude(await site.names(), "good");
  });

  it("has at most 1024 pending calls by default", async () => {
    let isBlocked = false;
    // While the function of the application is pending, no request is sent.
    const { peer } = await connectTo({}, { headers: () => (isBlocked ? new Promise(() => {}) : {}) });
    isBlocked = true;
    const calls = Array.from({ length: 1_024 }, () => rejection(peer.request("bad", {}, { timeout: 0 })));
    assert.equal((await rejection(peer.request("bad"))).reason, "too-many-calls");
    peer.destroy();
    assert.equal((await Promise.all(calls)).length, 1_024);
  });

  // Before the head of the response, browsers may send a POST again by themselves.
  it("does not receive a call again if the connection is lost during the response", async () => {
    const site = await startSite(({ name }, { legacy }) =>
      name === "tools/call" ? { chunks: [": open\n\n", 50], isLost: true } : legacy(),
    );
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "a" }));
    assert.deepEqual([error.reason, error.data.status], ["http-failed", undefined]);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 1);
  });

  it("causes an error for onError if the server refuses a notification", async () => {
    const site = await startSite(({ name }, { legacy }) => (name === "notifications/x" ? { status: 500 } : legacy()));
    const { peer, errors } = await connectMcp(site.url);
    peer.notify("notifications/x");
    await until(() => errors.length === 1);
    assert.deepEqual([errors[0].reason, errors[0].data.status], ["http-failed", 500]);
  });
});
