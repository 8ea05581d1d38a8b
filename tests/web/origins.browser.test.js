// The origins from which a window transport accepts messages, and to which it sends messages.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, windowTransport } from "./support/portway.js";
import { openIframe, receivedBy, origins, scriptedIframe, untilReady } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const note = (text) => ({ jsonrpc: "2.0", method: "note", params: [text] });

/** Creates a window transport to the child's window. Returns whether the transport receives a message of the child. */
async function receives(child, ...options) {
  const received = receivedBy(windowTransport(child.window, ...options));
  child.post(note("hello"));
  await child.settled();
  return received.length > 0;
}

/** Creates a window transport to the child's window, and sends a message. Returns whether the child receives it. */
async function reaches(child, ...options) {
  const transport = windowTransport(child.window, ...options);
  transport.send(note("hello"));
  await child.settled();
  const arrived = child.received.splice(0).length > 0;
  transport.destroy();
  return arrived;
}

describe("a window transport without the option origin", () => {
  it("exchanges messages with the page's own origin", async () => {
    const child = await scriptedIframe();
    assert.deepEqual([await receives(child), await reaches(child)], [true, true]);
  });

  for (const origin of ["other", "otherPort"]) {
    it(`neither receives from nor sends to an iframe of another origin: origins.${origin}`, async () => {
      const child = await scriptedIframe({ origin: origins[origin] });
      assert.deepEqual([await receives(child), await reaches(child)], [false, false]);
      assert.deepEqual([await receives(child, window), await reaches(child, window)], [false, false]);
    });
  }

  it("neither receives from nor sends to an iframe without an origin", async () => {
    const child = await scriptedIframe({ sandbox: "allow-scripts" });
    assert.deepEqual([await receives(child), await reaches(child)], [false, false]);
  });

  it("sends nothing after its iframe has navigated to a document of another origin", async () => {
    const child = await scriptedIframe();
    const client = new JSONRPCClient(windowTransport(child.window), { timeout: 50 });
    afterThisTest(() => client.destroy());
    const ready = untilReady(child.element);
    child.element.src = `${origins.other}/tests/web/fixtures/scripted-iframe.html`;
    await ready;
    await rejection(client.request("secret", { token: "s3cret" }));
    await child.settled();
    assert.deepEqual(child.received, []);
  });

  it("cannot be created in a document without an origin: a TypeError explains the reason", async () => {
    const error = await rejection(openIframe("frame.html", { sandbox: "allow-scripts" }));
    assert.match(error.message, /^TypeError: .*origin/);
  });
});

describe("a window transport with the option origin", () => {
  it("receives from and sends to only this origin", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    assert.deepEqual(
      [await receives(child, { origin: origins.other }), await reaches(child, { origin: origins.other })],
      [true, true],
    );
    assert.deepEqual(
      [await receives(child, { origin: origins.otherPort }), await reaches(child, { origin: origins.otherPort })],
      [false, false],
    );
  });

  // The iframe is at http://127.0.0.1:<port>.
  const lookAlikes = {
    "another port with a common prefix": (origin) => origin.slice(0, -1),
    "no port": (origin) => origin.replace(/:\d+$/, ""),
    "another scheme": (origin) => origin.replace("http:", "https:"),
    "another name of the same host": (origin) => origin.replace("127.0.0.1", "localhost"),
    "a host with a common prefix": (origin) => origin.replace("127.0.0.1", "127.0.0.1.example.com"),
    "a host with a common suffix": (origin) => origin.replace("127.0.0.1", "evil-127.0.0.1.example"),
  };
  for (const [name, change] of Object.entries(lookAlikes)) {
    it(`neither receives from nor sends to an iframe if the option differs from the iframe's origin: ${name}`, async () => {
      const child = await scriptedIframe({ origin: origins.other });
      const origin = change(origins.other);
      assert.notEqual(origin, origins.other);
      assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [false, false]);
    });
  }

  // A host with a final dot is the same host in the network, but another origin in browsers.
  it("neither receives from nor sends to an iframe if the option has a final dot after the host", async () => {
    const child = await scriptedIframe({ origin: origins.otherPort });
    const origin = origins.otherPort.replace("localhost", "localhost.");
    assert.equal(new URL(origin).origin, origin);
    assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [false, false]);
    assert.isFalse(await receives(child, { origin: [origin, origins.own] }));
    assert.isTrue(await receives(child, { origin: [origin, origins.otherPort] }));
  });

  it("neither receives from nor sends to an iframe with a final dot after the host if the option has no dot", async () => {
    const origin = origins.otherPort.replace("localhost", "localhost.");
    const child = await scriptedIframe({ origin });
    assert.deepEqual(
      [await receives(child, { origin: origins.otherPort }), await reaches(child, { origin: origins.otherPort })],
      [false, false],
    );
    assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [true, true]);
  });

  it("receives from and sends to an iframe of any origin if the option is *", async () => {
    for (const options of [{}, { origin: origins.other }, { sandbox: "allow-scripts" }]) {
      const child = await scriptedIframe(options);
      assert.deepEqual([await receives(child, { origin: "*" }), await reaches(child, { origin: "*" })], [true, true]);
    }
  });

  it('with the value "null" receives from and sends to an iframe without an origin, and receives from no other iframe', async () => {
    const opaque = await scriptedIframe({ sandbox: "allow-scripts" });
    assert.deepEqual(
      [await receives(opaque, { origin: "null" }), await reaches(opaque, { origin: "null" })],
      [true, true],
    );
    for (const options of [{}, { origin: origins.other }]) {
      assert.isFalse(await receives(await scriptedIframe(options), { origin: "null" }));
    }
  });

  it("receives from each origin of an array, and from no other origin", async () => {
    const origin = [origins.own, origins.otherPort];
    assert.isTrue(await receives(await scriptedIframe(), { origin }));
    assert.isTrue(await receives(await scriptedIframe({ origin: origins.otherPort }), { origin }));
    assert.isFalse(await receives(await scriptedIframe({ origin: origins.other }), { origin }));
  });

  for (const options of [{}, { origin: origins.other }, { origin: origins.otherPort }]) {
    it(`sends each message once if an array contains the window's origin, before and after the window's first message: ${JSON.stringify(options)}`, async () => {
      const child = await scriptedIframe(options);
      const transport = windowTransport(child.window, { origin: [origins.own, origins.other, origins.otherPort] });
      receivedBy(transport);
      transport.send(note("before"));
      await child.settled();
      child.post(note("hello"));
      await child.settled();
      transport.send(note("after"));
      await child.settled();
      assert.deepEqual(child.received, [note("before"), note("after")]);
    });
  }

  it("sends each message once if an array contains the origin of the window twice", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const transport = windowTransport(child.window, { origin: [origins.other, origins.own, origins.other] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, [note("before")]);
  });

  it('sends each message once to an iframe without an origin if an array contains "null"', async () => {
    const child = await scriptedIframe({ sandbox: "allow-scripts" });
    const transport = windowTransport(child.window, { origin: [origins.own, "null"] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, [note("before")]);
  });

  it("sends nothing to a window whose origin is not in the array", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const transport = windowTransport(child.window, { origin: [origins.own, origins.otherPort] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, []);
  });

  it("with several origins refuses to transfer before the window's first message, and transfers afterwards", async () => {
    const child = await openIframe("frame.html", { origin: origins.other, query: { origin: origins.own } });
    const transport = windowTransport(child.contentWindow, { origin: [origins.own, origins.other] });
    const client = new JSONRPCClient(transport);
    const bytes = new Uint8Array(8);
    const error = await rejection(client.request("echo", [bytes], { transfer: [bytes.buffer] }));
    assert.instanceOf(error, TypeError);
    assert.match(error.message, /several origins.*after its first message/);
    assert.equal(bytes.byteLength, 8);
    assert.deepEqual(await client.request("echo", [1]), [1]);
    assert.equal((await client.request("echo", [bytes], { transfer: [bytes.buffer] }))[0].byteLength, 8);
    assert.equal(bytes.byteLength, 0);
    client.destroy();
  });

  for (const [origin, hint] of [
    ["https://example.com/", '"https://example.com"'],
    ["https://example.com/path", '"https://example.com"'],
    ["HTTPS://Example.COM", '"https://example.com"'],
    ["https://example.com:443", '"https://example.com"'],
    ["http://example.com:80", '"http://example.com"'],
    ["http://127.0.0.1.:8080", '"http://127.0.0.1:8080"'],
    ["https://user@example.com", '"https://example.com"'],
    ["example.com", ""],
    ["localhost:8080", ""],
    ["//example.com", ""],
    ["https://", ""],
    ["*.example.com", ""],
    ["", ""],
    [" ", ""],
    [null, ""],
    [42, ""],
    [[], ""],
    [["https://example.com", "nonsense"], ""],
    [/example/, ""],
    ["file:///", ""],
    ["data:text/html,x", ""],
    ["javascript:alert(1)", ""],
  ]) {
    const shown = origin instanceof RegExp ? String(origin) : JSON.stringify(origin);
    it(`throws a TypeError if the option is ${shown}${hint && `, and proposes ${hint}`}`, () => {
      assert.throws(() => windowTransport(window, { origin }), TypeError, hint);
    });
  }

  for (const origin of [
    "capacitor://localhost",
    "ionic://localhost",
    "tauri://localhost",
    "app://obsidian.md",
    "chrome-extension://abcdef",
    "file://",
  ]) {
    it(`accepts the origin of an app shell, and then receives nothing from other origins: ${origin}`, async () => {
      const child = await scriptedIframe({ origin: origins.other });
      assert.isFalse(await receives(child, { origin }));
      assert.isTrue(await receives(child, { origin: [origin, origins.other] }));
    });
  }

  it("does not treat an origin with a wildcard as a pattern", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    for (const origin of ["http://*", "http://127.0.0.1:*", "http://*.0.0.1"]) {
      let received = false;
      try {
        received = await receives(child, { origin });
      } catch (error) {
        assert.instanceOf(error, TypeError);
      }
      assert.isFalse(received);
    }
  });
});

describe("a window transport ignores", () => {
  it("messages that the page posts to itself", async () => {
    const child = await scriptedIframe();
    const received = receivedBy(windowTransport(child.window, { origin: "*" }));
    window.postMessage(note("from myself"), "*");
    await child.settled();
    await child.settled();
    assert.deepEqual(received, []);
  });

  it("messages of another iframe of the same origin", async () => {
    const [child, sibling] = [await scriptedIframe(), await scriptedIframe()];
    const received = receivedBy(windowTransport(child.window));
    sibling.post(note("from the sibling"));
    await sibling.settled();
    await child.settled();
    assert.deepEqual(received, []);
  });

  it("forged responses of another iframe to a call", async () => {
    const [child, sibling] = [await scriptedIframe(), await scriptedIframe()];
    const client = new JSONRPCClient(windowTransport(child.window));
    afterThisTest(() => client.destroy());
    const call = client.request("secret");
    sibling.post({ jsonrpc: "2.0", id: 1, result: "forged" });
    await sibling.settled();
    child.post({ jsonrpc: "2.0", id: 1, result: "right" });
    assert.equal(await call, "right");
  });

  it('messages of another iframe without an origin if the option is "null"', async () => {
    const [child, sibling] = [
      await scriptedIframe({ sandbox: "allow-scripts" }),
      await scriptedIframe({ sandbox: "allow-scripts" }),
    ];
    const received = receivedBy(windowTransport(child.window, { origin: "null" }));
    sibling.post(note("from the sibling"));
    await sibling.settled();
    await child.settled();
    assert.deepEqual(received, []);
  });

  it("an event that a script has created", async () => {
    const child = await scriptedIframe();
    const received = receivedBy(windowTransport(child.window));
    const forged = { data: note("forged"), origin: origins.own, source: child.window };
    window.dispatchEvent(new MessageEvent("message", forged));
    const event = new MessageEvent("message");
    event.initMessageEvent?.("message", false, false, forged.data, forged.origin, "", child.window, []);
    window.dispatchEvent(event);
    await child.settled();
    assert.deepEqual(received, []);
  });
});

describe("requests of several origins that are buffered until a server exists", () => {
  it("get their responses only at their own origin: the next document gets no response to the previous document's requests", async () => {
    const child = await scriptedIframe();
    const transport = windowTransport(child.window, { origin: [origins.own, origins.other] });
    child.post({ jsonrpc: "2.0", method: "whoami", id: "of the first" });
    await child.settled();
    const ready = untilReady(child.element);
    child.element.src = `${origins.other}/tests/web/fixtures/scripted-iframe.html`;
    await ready;
    child.post({ jsonrpc: "2.0", method: "whoami", id: "of the second" });
    await child.settled();
    const server = new JSONRPCServer(transport).method("whoami", () => "answer");
    afterThisTest(() => server.destroy());
    await until(() => child.received.some(({ id }) => id === "of the second"), "the second request has no response");
    await child.settled();
    assert.deepEqual(
      child.received.map(({ id }) => id),
      ["of the second"],
    );
  });
});
