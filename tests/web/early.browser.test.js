// `portway/early` buffers messages that arrive before the wasm has loaded. This file tests iframes, and
// workers.browser.test.js tests workers.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, windowTransport } from "./support/portway.js";
import { openIframe, frameIndex, origins, scriptedIframe, recordDataReads } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

const slowWasm = "/pkg/portway_bg.wasm?delay=300";

/** Returns the path of a wasm whose response waits until `open` is called. */
function gatedWasm() {
  const name = crypto.randomUUID();
  return { wasm: `/pkg/portway_bg.wasm?gate=${name}`, open: () => fetch(`/?opens=${name}`) };
}

for (const [kind, options, transportOptions] of [
  ["of the page's origin", { query: { wasm: slowWasm } }, undefined],
  [
    "of another origin",
    { origin: origins.other, query: { wasm: slowWasm, origin: origins.own } },
    { origin: origins.other },
  ],
  [
    "without an origin",
    { sandbox: "allow-scripts", query: { wasm: slowWasm, origin: origins.own } },
    { origin: "null" },
  ],
]) {
  it(`an iframe ${kind} answers requests that arrived before its wasm had loaded`, async () => {
    const { contentWindow } = await openIframe("early-frame.html", options);
    const peer = new JSONRPCPeer(windowTransport(contentWindow, transportOptions)).method("name", () => "page");
    afterThisTest(() => peer.destroy());
    const results = await Promise.all([peer.request("echo", [1]), peer.request("callBack"), peer.request("echo", [2])]);
    assert.deepEqual(results, [[1], ["back", "page"], [2]]);
    assert.deepEqual(await peer.request("echo", [3]), [3]);
  });
}

it("an iframe buffers messages from another window for a transport that is created later", async () => {
  const sibling = await scriptedIframe();
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm: slowWasm } });
  const post = (n) => sibling.post({ jsonrpc: "2.0", method: "note", params: [n] }, frameIndex(contentWindow));
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  post(1);
  await client.request("echo");
  post(2);
  await sibling.settled();
  await client.request("echo");
  assert.deepEqual(await client.request("listenTo", [frameIndex(sibling.window)]), [1, 2]);
});

it("an iframe still buffers messages from its parent if another window floods the iframe", async () => {
  const sibling = await scriptedIframe();
  const { wasm, open } = gatedWasm();
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm } });
  const iframeIndex = frameIndex(contentWindow);
  for (let n = 0; n < 10_100; n++) sibling.post({ jsonrpc: "2.0", method: "note", params: [n] }, iframeIndex);
  await sibling.settled();
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  const echo = client.request("echo", [1]);
  await open();
  assert.deepEqual(await echo, [1]);
});

it("an iframe buffers at most 10 000 messages: all of a quiet sender, and equal numbers of each flooding sender", async () => {
  const flooders = [await scriptedIframe(), await scriptedIframe()];
  const quiet = await scriptedIframe();
  const { wasm, open } = gatedWasm();
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm } });
  const iframeIndex = frameIndex(contentWindow);
  const note = (n) => ({ jsonrpc: "2.0", method: "note", params: [n] });
  const flood = async (flooder) => {
    for (let n = 0; n < 10_100; n++) flooder.post(note(n), iframeIndex);
    await flooder.settled();
  };
  await flood(flooders[0]);
  for (let n = 0; n < 10; n++) quiet.post(note(n), iframeIndex);
  await quiet.settled();
  await flood(flooders[1]);
  for (let n = 10; n < 20; n++) quiet.post(note(n), iframeIndex);
  await quiet.settled();
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  const bufferedFrom = async ({ window }) => client.request("listenTo", [frameIndex(window)]);
  const first = bufferedFrom(flooders[0]);
  await open();
  const all = [await first, await bufferedFrom(flooders[1]), await bufferedFrom(quiet)];
  assert.deepEqual(
    all[2],
    Array.from({ length: 20 }, (_, n) => n),
  );
  const counts = all.map(({ length }) => length);
  // The iframe has also buffered one request of this page.
  assert.isAtMost(counts[0] + counts[1] + counts[2], 9_999);
  assert.isAtLeast(counts[0] + counts[1] + counts[2], 9_997);
  assert.isAtMost(Math.abs(counts[0] - counts[1]), 1);
  for (const seen of all)
    assert.deepEqual(
      seen,
      Array.from(seen, (_, n) => n),
    );
});

it("an iframe reads no message of another window before a transport to this other window exists", async () => {
  const sibling = await scriptedIframe();
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm: slowWasm } });
  const reads = recordDataReads(contentWindow);
  const post = () => sibling.post({ jsonrpc: "2.0", method: "note", params: [1] }, frameIndex(contentWindow));
  post();
  await sibling.settled();
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  await client.request("echo");
  post();
  await sibling.settled();
  await client.request("echo");
  assert.isTrue(reads.some(({ source }) => source === window));
  assert.isFalse(reads.some(({ source }) => source === sibling.window));
  assert.deepEqual(await client.request("listenTo", [frameIndex(sibling.window)]), [1, 1]);
});

it("an iframe buffers messages for 10 s after the start of its wasm, then drops all of them and removes its listener", async function () {
  this.timeout(60_000);
  const [sibling, late] = [await scriptedIframe(), await scriptedIframe()];
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm: slowWasm } });
  const removed = [];
  const { removeEventListener } = contentWindow;
  contentWindow.removeEventListener = function (type, ...more) {
    removed.push(type);
    return removeEventListener.call(this, type, ...more);
  };
  const post = (scriptedIframe, n) =>
    scriptedIframe.post({ jsonrpc: "2.0", method: "note", params: [n] }, frameIndex(contentWindow));
  post(sibling, 1);
  await sibling.settled();
  const client = new JSONRPCClient(windowTransport(contentWindow));
  afterThisTest(() => client.destroy());
  await client.request("echo");
  // A busy machine may need the remaining four seconds.
  await pause(6_000);
  assert.deepEqual(removed, []);
  post(late, 2);
  await late.settled();
  assert.deepEqual(await client.request("listenTo", [frameIndex(late.window)]), [2]);
  await until(() => removed.length > 0, "the listener was not removed");
  assert.deepEqual(removed, ["message"]);
  assert.deepEqual(await client.request("listenTo", [frameIndex(sibling.window)]), []);
  assert.deepEqual(await client.request("echo", [1]), [1]);
});

it("an iframe ignores messages from an origin that it does not allow", async () => {
  const { contentWindow } = await openIframe("early-frame.html", { query: { wasm: slowWasm, origin: origins.other } });
  const client = new JSONRPCClient(windowTransport(contentWindow), { timeout: 1_000 });
  afterThisTest(() => client.destroy());
  assert.equal((await rejection(client.request("echo"))).reason, "timeout");
});

it("an iframe whose wasm is missing responds with an error to requests that arrive before or after the failed load", async () => {
  for (const [options, transportOptions] of [
    [{}, undefined],
    [{ origin: origins.other }, { origin: origins.other }],
    [{ sandbox: "allow-scripts" }, { origin: "null" }],
  ]) {
    const query = { wasm: "/nowhere.wasm?delay=100", origin: origins.own };
    const { contentWindow } = await openIframe("early-frame.html", { ...options, query });
    const client = new JSONRPCClient(windowTransport(contentWindow, transportOptions));
    afterThisTest(() => client.destroy());
    for (let n = 0; n < 2; n++) {
      const error = await rejection(client.request("echo"));
      assert.deepEqual([error.code, error.message, error.data], [-32603, "portway could not start", undefined]);
    }
  }
});

describe("an iframe whose wasm is missing", () => {
  /** Opens an iframe whose wasm is missing. `failed` waits until the iframe has printed the reason of the failure. */
  const openFailing = async () => {
    const { contentWindow } = await openIframe("early-frame.html", {
      query: { wasm: "/nowhere.wasm?delay=300&token=secret" },
    });
    const printed = [];
    contentWindow.console.error = (...args) => printed.push(args.map(String).join(" "));
    const failed = () => until(() => printed.length > 0, "the reason was not printed");
    return { iframeIndex: frameIndex(contentWindow), contentWindow, printed, failed };
  };
  const request = (id) => ({ jsonrpc: "2.0", id, method: "x" });
  const refusals = ({ received }) => received.filter(({ error }) => error !== undefined);

  it("prints the reason of the failure once, and sends this reason to no peer", async () => {
    const { iframeIndex, printed, failed } = await openFailing();
    const sibling = await scriptedIframe();
    sibling.post(request(1), iframeIndex);
    await sibling.settled();
    await failed();
    sibling.post([request(2), { jsonrpc: "2.0", method: "note" }], iframeIndex);
    sibling.post({ jsonrpc: "2.0", method: "note" }, iframeIndex);
    await until(() => refusals(sibling).length === 2, "no response arrived");
    await sibling.settled();
    const error = { code: -32603, message: "portway could not start" };
    assert.deepEqual(sibling.received, [
      { jsonrpc: "2.0", error, id: 1 },
      { jsonrpc: "2.0", error, id: 2 },
    ]);
    assert.equal(printed.length, 1);
    assert.include(printed[0], "nowhere.wasm");
  });

  it("responds to the same requests as an iframe whose wasm has loaded, and ignores all other values", async () => {
    const { contentWindow: running } = await openIframe("early-frame.html");
    const withHoles = [request("beside a hole")];
    withHoles.length = 2;
    const values = [
      request("alone"),
      [request("in a list"), request("in the same list")],
      { ...request("another version"), jsonrpc: "1.0" },
      { ...request("a number for a version"), jsonrpc: 2 },
      { id: "no version", method: "x" },
      [],
      withHoles,
      [request("beside null"), null],
      [request("beside another version"), { jsonrpc: "1.0" }],
      [[request("in a list in a list")]],
      Object.assign([], request("in members of a list")),
      "2.0",
      null,
      undefined,
      1,
      new Map([["jsonrpc", "2.0"]]),
      { ...request("with params"), params: [1] },
      request("last"),
    ];
    /** Posts all values to a window. Returns the ids of the responses. */
    const answeredIds = async (window) => {
      const ids = [];
      const listener = ({ source, data }) => {
        if (source === window) ids.push(...[data].flat().map(({ id }) => id));
      };
      addEventListener("message", listener);
      afterThisTest(() => removeEventListener("message", listener));
      for (const value of values) window.postMessage(value, "*");
      await until(() => ids.includes("last"), "the last request has no response");
      return ids;
    };
    const { contentWindow: failing } = await openFailing();
    const expected = ["alone", "in a list", "in the same list", "with params", "last"];
    assert.deepEqual(await answeredIds(running), expected);
    assert.deepEqual(await answeredIds(failing), expected);
  });

  it("responds to at most 100 requests of one sender, and still responds to other senders afterwards", async () => {
    const { iframeIndex, failed } = await openFailing();
    const [sibling, other] = [await scriptedIframe(), await scriptedIframe()];
    for (let n = 0; n < 60; n++) sibling.post(request(n), iframeIndex);
    await sibling.settled();
    await failed();
    sibling.post(
      Array.from({ length: 100_000 }, () => request(7)),
      iframeIndex,
    );
    await sibling.settled();
    for (let n = 0; n < 100; n++) sibling.post(request(n), iframeIndex);
    await sibling.settled();
    other.post(request("mine"), iframeIndex);
    await until(() => refusals(other).length === 1, "the other window got no response");
    await sibling.settled();
    assert.isAtLeast(refusals(sibling).length, 90);
    assert.isAtMost(refusals(sibling).length, 100);
  });

  it("responds to at most 1 000 requests of all senders together", async () => {
    const { iframeIndex, failed } = await openFailing();
    await failed();
    const siblings = await Promise.all(Array.from({ length: 12 }, () => scriptedIframe()));
    for (const sibling of siblings) {
      sibling.post(
        Array.from({ length: 200 }, (_, n) => request(n)),
        iframeIndex,
      );
      await sibling.settled();
    }
    const last = await scriptedIframe();
    last.post(request(1), iframeIndex);
    await last.settled();
    for (const sibling of siblings) await sibling.settled();
    assert.deepEqual(refusals(last), []);
    assert.isAtMost(siblings.flatMap(refusals).length, 1_000);
    assert.isAtLeast(siblings.flatMap(refusals).length, 950);
  });

  it("does not respond to a request whose id is too long or has an invalid type", async () => {
    const { iframeIndex, failed } = await openFailing();
    await failed();
    const sibling = await scriptedIframe();
    for (const id of ["x".repeat(1_025), { large: true }, [1], 1n, true]) sibling.post(request(id), iframeIndex);
    sibling.post(request("x".repeat(1_024)), iframeIndex);
    await until(() => refusals(sibling).length > 0, "no response arrived");
    assert.deepEqual(
      refusals(sibling).map(({ id }) => id.length),
      [1_024],
    );
  });
});
