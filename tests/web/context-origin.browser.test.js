// The context of a handler has the origin of the window that sent the message.

import { assert } from "chai";
import { JSONRPCServer, windowTransport } from "./support/portway.js";
import { connectingIframe, origins, scriptedIframe } from "./support/iframes.js";
import { connected } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";

/** Creates a server for an iframe. `recorded` contains the origins in the contexts of its handlers. */
function serveIframe(child, origin) {
  const recorded = [];
  const record = (_, context) => void recorded.push(context.origin);
  const server = new JSONRPCServer(windowTransport(child.window, { origin }));
  server.method("work", record).onNotify("note", record);
  afterThisTest(() => server.destroy());
  return { server, recorded };
}

const request = (id) => ({ jsonrpc: "2.0", method: "work", id });
const note = { jsonrpc: "2.0", method: "note" };

const kinds = {
  "of the page's origin": [undefined, undefined, origins.own],
  "of another origin": [{ origin: origins.other }, origins.other, origins.other],
  "of one of several origins": [{ origin: origins.otherPort }, [origins.other, origins.otherPort], origins.otherPort],
  "of any origin": [{ origin: origins.other }, "*", origins.other],
  "without an origin": [{ sandbox: "allow-scripts" }, "null", "null"],
};

describe("the context of a handler at a windowTransport has the origin of the sender:", () => {
  for (const [kind, [options, origin, expected]] of Object.entries(kinds)) {
    it(`an iframe ${kind}`, async () => {
      const child = await scriptedIframe(options);
      const { recorded } = serveIframe(child, origin);
      child.post(request(1));
      child.post(note);
      child.post([request(2), note]);
      await child.settled();
      assert.deepEqual(recorded, Array(4).fill(expected));
    });
  }

  it("for each of several servers that handle one notification", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const all = [serveIframe(child, origins.other), serveIframe(child, origins.other)];
    child.post(note);
    await child.settled();
    assert.deepEqual(
      all.map(({ recorded }) => recorded),
      [[origins.other], [origins.other]],
    );
  });

  it("for messages that arrived before the server was created", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const transport = windowTransport(child.window, { origin: [origins.own, origins.other] });
    child.post(request(1));
    await child.settled();
    const recorded = [];
    const server = new JSONRPCServer(transport).method("work", (_, context) => void recorded.push(context.origin));
    afterThisTest(() => server.destroy());
    await child.settled();
    assert.deepEqual(recorded, [origins.other]);
  });
});

describe("the context of a handler in a session with a window has the origin of the peer:", () => {
  const sessions = {
    "of the page's origin": [{}, {}, undefined, origins.own],
    "of another origin": [{ origin: origins.own }, { origin: origins.other }, { origin: origins.other }, origins.other],
    "without an origin": [{ origin: origins.own }, { sandbox: "allow-scripts" }, { origin: "null" }, "null"],
  };
  for (const [kind, [query, iframeOptions, options, expected]] of Object.entries(sessions)) {
    it(`an iframe ${kind}`, async () => {
      const recorded = [];
      const peer = await connected(connectingIframe(query, iframeOptions), {
        ...options,
        methods: { name: (_, context) => (recorded.push(context.origin), "page") },
      });
      assert.deepEqual(await peer.request("callBack", [1]), ["back", "page"]);
      assert.deepEqual(recorded, [expected]);
    });
  }
});
