// Params of messages that arrived in one array through a port of another realm. Their objects have the classes of that
// realm.

import { assert } from "chai";
import { JSONRPCServer, portTransport } from "./support/portway.js";
import { openIframe } from "./support/iframes.js";
import { scriptedChannel } from "./support/transports.js";
import { afterThisTest } from "./support/cleanup.js";
import { until } from "./support/outcomes.js";

/**
 * Creates a server on a port of another realm. Returns the params that its handler receives (`seen`), its replies, and
 * the other port of the channel, with which the test sends requests.
 */
async function serving() {
  const { contentWindow } = await openIframe("scripted-iframe.html");
  const { port1, port2 } = new contentWindow.MessageChannel();
  const seen = [];
  const replies = [];
  const server = new JSONRPCServer(portTransport(port1)).method("keep", (params) => void seen.push(params));
  afterThisTest(() => server.destroy());
  port2.onmessage = ({ data }) => replies.push(...[data].flat());
  return { seen, replies, port: port2 };
}

const requests = (...params) => params.map((params, id) => ({ jsonrpc: "2.0", method: "keep", params, id }));

describe("requests in one array, through a port of another realm", () => {
  for (const [what, make, inside] of [
    ["maps", (shared) => new Map([["key", shared]]), (value) => value.get("key")],
    ["sets", (shared) => new Set([shared]), (value) => [...value][0]],
    ["causes of errors", (cause) => new Error("outer", { cause }), (value) => value.cause],
  ]) {
    const shared = { role: "user" };
    const [first, second] = structuredClone([make(shared), make(shared)]);
    // WebKit copies a cause as a string, which is not shared.
    if (typeof inside(first) !== "object" || inside(first) !== inside(second)) continue;
    it(`are refused if they share an object with an earlier request in ${what}`, async () => {
      const { seen, replies, port } = await serving();
      port.postMessage(requests([make(shared)], [make(shared)]));
      await until(() => replies.length === 2);
      assert.lengthOf(seen, 1);
      assert.deepEqual(inside(seen[0][0]), shared);
      assert.deepEqual(replies.map(({ id, error }) => [id, error?.code]).sort(), [
        [0, undefined],
        [1, -32600],
      ]);
    });
  }

  it("are checked in a short time if their params contain a String object with a long text", async () => {
    const { replies, port } = await serving();
    port.postMessage(requests([new String("x".repeat(8_000_000))], []));
    const start = performance.now();
    await until(() => replies.length === 2);
    assert.isBelow(performance.now() - start, 1_000);
  });
});

it("params of requests that arrived in one array do not share the memory of an image", async () => {
  const { transport, remoteEnd } = scriptedChannel();
  const seen = [];
  const server = new JSONRPCServer(transport).method("keep", ([value]) => void seen.push(value.data ?? value));
  afterThisTest(() => server.destroy());
  const image = new ImageData(4, 4);
  remoteEnd.post(requests([image], [image.data]));
  await remoteEnd.next();
  seen[0].fill(77);
  // In Firefox both values share memory, so the library refuses the second request.
  if (seen.length > 1) assert.equal(seen[1][0], 0);
});
