// The version of the handshake between windows, and between a page and its worker.

import { assert } from "chai";
import { connect } from "./support/portway.js";
import { connectingIframe, origins, scriptedIframe } from "./support/iframes.js";
import { connected, hexId } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";
import { worker } from "./support/workers.js";

const refusal = (id, version) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32600, message: "Incompatible version", data: { reason: "incompatible-version", version } },
});

const hello = (version) => ({
  jsonrpc: "2.0",
  id: hexId(0),
  method: "rpc.hello",
  params: { version, channel: "", features: [] },
});

/** Asserts that connect rejects in less than two seconds, with both versions in the message of the error. */
async function assertIncompatible(connecting, version) {
  const start = performance.now();
  const { reason, message } = await connecting;
  assert.equal(reason, "incompatible-version");
  assert.match(message, new RegExp(`version ${version}\\b.*version 1\\b`));
  assert.isBelow(performance.now() - start, 2_000);
}

describe("a window whose handshake has another version", () => {
  for (const [kind, options] of Object.entries({
    "of the page's origin": [{}, undefined],
    "of another origin": [{ origin: origins.other }, { origin: origins.other }],
  })) {
    const [iframeOptions, connectOptions] = options;

    it(`gets a refusal for its hello, and connect rejects at once: a window ${kind}`, async () => {
      const child = await scriptedIframe(iframeOptions);
      const connecting = rejection(connect(child.element, { ...connectOptions, connectTimeout: 0 }));
      child.post(hello(2));
      await assertIncompatible(connecting, 2);
      const isRefusal = (message) => message?.error !== undefined;
      await until(() => child.received.some(isRefusal));
      assert.deepEqual(child.received.filter(isRefusal), [refusal(hexId(0), 1)]);
    });

    it(`makes connect reject at once by a refusal: a window ${kind}`, async () => {
      const child = await scriptedIframe(iframeOptions);
      const connecting = rejection(connect(child.element, { ...connectOptions, connectTimeout: 0 }));
      await until(() => child.received.some((message) => message?.method === "rpc.hello"));
      child.post(refusal(child.received.find((message) => message?.method === "rpc.hello").id, 7));
      await assertIncompatible(connecting, 7);
    });
  }

  it("makes connect reject in its iframe, and gets the refusal of the iframe", async () => {
    const element = connectingIframe();
    const seen = [];
    const listener = ({ source, data }) => source === element.contentWindow && seen.push(data);
    addEventListener("message", listener);
    afterThisTest(() => removeEventListener("message", listener));
    await until(() => seen.some((data) => data?.method === "rpc.hello"));
    element.contentWindow.postMessage(hello(2), origins.own);
    await until(() => seen.some((data) => data?.type === "failed"));
    assert.equal(seen.find((data) => data?.type === "failed").reason, "incompatible-version");
    assert.deepInclude(seen, refusal(hexId(0), 1));
  });

  it("gets no refusal if its origin is not allowed, and connect reports the origin", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const connecting = rejection(connect(child.element, { origin: origins.own, connectTimeout: 10_000 }));
    child.post(hello(2));
    assert.equal((await connecting).reason, "wrong-origin");
    assert.deepEqual(child.received, []);
  });
});

describe("a worker whose handshake has another version", () => {
  const file = "version-worker.js";

  it("gets a refusal for its hello, and connect rejects at once", async () => {
    const started = worker(file, { version: 2, speaks: 1 });
    const seen = [];
    started.addEventListener("message", ({ data }) => data?.type === "received" && seen.push(data.message));
    await assertIncompatible(rejection(connect(started, { connectTimeout: 0 })), 2);
    await until(() => seen.some((message) => message?.error !== undefined));
    assert.deepInclude(seen, refusal(hexId(0), 1));
  });

  it("makes connect reject at once by a refusal", async () => {
    await assertIncompatible(rejection(connect(worker(file, { version: 9 }), { connectTimeout: 0 })), 9);
  });
});

describe("a worker that receives a hello of another version", () => {
  it("sends a refusal, and ends its attempt to connect", async () => {
    const started = worker("connect-worker.js");
    const seen = [];
    started.addEventListener("message", ({ data }) => seen.push(data));
    await until(() => seen.some((data) => data?.method === "rpc.hello"));
    started.postMessage(hello(2));
    await until(() => seen.some((data) => data?.error !== undefined));
    assert.deepInclude(seen, refusal(hexId(0), 1));
    const count = seen.length;
    // While another worker connects, this worker sends no further message.
    await connected(worker("connect-worker.js"));
    assert.equal(seen.length, count);
  });
});
