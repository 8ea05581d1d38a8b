// The origins that a window transport accepts messages from, and sends them to.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer, windowTransport } from "./support/portway.js";
import { openIframe, receivedBy, origins, scriptedIframe, untilReady } from "./support/iframes.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const note = (text) => ({ jsonrpc: "2.0", method: "note", params: [text] });

/** Whether a transport to this window receives from the window. */
async function receives(child, ...options) {
  const received = receivedBy(windowTransport(child.window, ...options));
  child.post(note("hello"));
  await child.settled();
  return received.length > 0;
}

/** Whether messages arrive at the window. */
async function reaches(child, ...options) {
  const transport = windowTransport(child.window, ...options);
  transport.send(note("hello"));
  await child.settled();
  const arrived = child.received.splice(0).length > 0;
  transport.destroy();
  return arrived;
}

describe("without an origin, a window transport", () => {
  it("talks to the page's own origin, both ways", async () => {
    const child = await scriptedIframe();
    assert.deepEqual([await receives(child), await reaches(child)], [true, true]);
  });

  for (const origin of ["other", "otherPort"]) {
    it(`neither receives from nor reaches a frame of the ${origin} origin`, async () => {
      const child = await scriptedIframe({ origin: origins[origin] });
      assert.deepEqual([await receives(child), await reaches(child)], [false, false]);
      assert.deepEqual([await receives(child, window), await reaches(child, window)], [false, false]);
    });
  }

  it("neither receives from nor reaches a frame without an origin", async () => {
    const child = await scriptedIframe({ sandbox: "allow-scripts" });
    assert.deepEqual([await receives(child), await reaches(child)], [false, false]);
  });

  it("sends nothing to the document that a frame of the own origin is navigated to", async () => {
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

  it("is a clear TypeError in a document that has no origin", async () => {
    const error = await rejection(openIframe("frame.html", { sandbox: "allow-scripts" }));
    assert.match(error.message, /^TypeError: .*origin/);
  });
});

describe("with an origin, a window transport", () => {
  it("receives from and reaches just that origin", async () => {
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

  // The frame is at http://127.0.0.1:<port>.
  const lookAlikes = {
    "another port that begins alike": (origin) => origin.slice(0, -1),
    "no port": (origin) => origin.replace(/:\d+$/, ""),
    "another scheme": (origin) => origin.replace("http:", "https:"),
    "another name of the same host": (origin) => origin.replace("127.0.0.1", "localhost"),
    "a host that begins alike": (origin) => origin.replace("127.0.0.1", "127.0.0.1.example.com"),
    "a host that ends alike": (origin) => origin.replace("127.0.0.1", "evil-127.0.0.1.example"),
  };
  for (const [name, change] of Object.entries(lookAlikes)) {
    it(`neither receives from nor reaches a frame with ${name}`, async () => {
      const child = await scriptedIframe({ origin: origins.other });
      const origin = change(origins.other);
      assert.notEqual(origin, origins.other);
      assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [false, false]);
    });
  }

  // To the network it is the same host, and to browsers another origin.
  it("neither receives from nor reaches a frame with its host and a dot at the end", async () => {
    const child = await scriptedIframe({ origin: origins.otherPort });
    const origin = origins.otherPort.replace("localhost", "localhost.");
    assert.equal(new URL(origin).origin, origin);
    assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [false, false]);
    assert.isFalse(await receives(child, { origin: [origin, origins.own] }));
    assert.isTrue(await receives(child, { origin: [origin, origins.otherPort] }));
  });

  it("neither receives from nor reaches a frame whose host has a dot at the end, with the host without one", async () => {
    const origin = origins.otherPort.replace("localhost", "localhost.");
    const child = await scriptedIframe({ origin });
    assert.deepEqual(
      [await receives(child, { origin: origins.otherPort }), await reaches(child, { origin: origins.otherPort })],
      [false, false],
    );
    assert.deepEqual([await receives(child, { origin }), await reaches(child, { origin })], [true, true]);
  });

  it("that is * receives from and reaches any origin in the window", async () => {
    for (const options of [{}, { origin: origins.other }, { sandbox: "allow-scripts" }]) {
      const child = await scriptedIframe(options);
      assert.deepEqual([await receives(child, { origin: "*" }), await reaches(child, { origin: "*" })], [true, true]);
    }
  });

  it("that is null receives from a frame without an origin, and no other", async () => {
    const opaque = await scriptedIframe({ sandbox: "allow-scripts" });
    assert.deepEqual(
      [await receives(opaque, { origin: "null" }), await reaches(opaque, { origin: "null" })],
      [true, true],
    );
    for (const options of [{}, { origin: origins.other }]) {
      assert.isFalse(await receives(await scriptedIframe(options), { origin: "null" }));
    }
  });

  it("of a list receives from each of them, and no other", async () => {
    const origin = [origins.own, origins.otherPort];
    assert.isTrue(await receives(await scriptedIframe(), { origin }));
    assert.isTrue(await receives(await scriptedIframe({ origin: origins.otherPort }), { origin }));
    assert.isFalse(await receives(await scriptedIframe({ origin: origins.other }), { origin }));
  });

  for (const options of [{}, { origin: origins.other }, { origin: origins.otherPort }]) {
    it(`of a list sends to the window once, before and after its first message, if its origin is ${JSON.stringify(options)}`, async () => {
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

  it("of a list that names an origin twice sends each message once", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const transport = windowTransport(child.window, { origin: [origins.other, origins.own, origins.other] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, [note("before")]);
  });

  it("of a list with null reaches a frame without an origin once, before its first message", async () => {
    const child = await scriptedIframe({ sandbox: "allow-scripts" });
    const transport = windowTransport(child.window, { origin: [origins.own, "null"] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, [note("before")]);
  });

  it("of a list sends nothing to a window of another origin", async () => {
    const child = await scriptedIframe({ origin: origins.other });
    const transport = windowTransport(child.window, { origin: [origins.own, origins.otherPort] });
    transport.send(note("before"));
    await child.settled();
    assert.deepEqual(child.received, []);
  });

  it("of a list makes the first call to a window of any of them, and transfers after its first message", async () => {
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
    it(`is a TypeError if that is ${shown}${hint && `, which proposes ${hint}`}`, () => {
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
    it(`may be that of an app shell, which no window has elsewhere: ${origin}`, async () => {
      const child = await scriptedIframe({ origin: origins.other });
      assert.isFalse(await receives(child, { origin }));
      assert.isTrue(await receives(child, { origin: [origin, origins.other] }));
    });
  }

  it("does not take an origin with a wildcard for a pattern", async () => {
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
  it("its own window", async () => {
    const child = await scriptedIframe();
    const received = receivedBy(windowTransport(child.window, { origin: "*" }));
    window.postMessage(note("from myself"), "*");
    await child.settled();
    await child.settled();
    assert.deepEqual(received, []);
  });

  it("another frame of the same origin", async () => {
    const [child, sibling] = [await scriptedIframe(), await scriptedIframe()];
    const received = receivedBy(windowTransport(child.window));
    sibling.post(note("from the sibling"));
    await sibling.settled();
    await child.settled();
    assert.deepEqual(received, []);
  });

  it("another frame that answers a call in the place of the right one", async () => {
    const [child, sibling] = [await scriptedIframe(), await scriptedIframe()];
    const client = new JSONRPCClient(windowTransport(child.window));
    afterThisTest(() => client.destroy());
    const call = client.request("secret");
    sibling.post({ jsonrpc: "2.0", id: 1, result: "forged" });
    await sibling.settled();
    child.post({ jsonrpc: "2.0", id: 1, result: "right" });
    assert.equal(await call, "right");
  });

  it("another frame without an origin, if it is to receive from one of them", async () => {
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

  it("an event that a script has made", async () => {
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

describe("messages of several origins that are kept until there is a server", () => {
  it("are answered each to its own origin: a document of another origin gets no answer that is not its own", async () => {
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
    await until(() => child.received.some(({ id }) => id === "of the second"), "no answer");
    await child.settled();
    assert.deepEqual(
      child.received.map(({ id }) => id),
      ["of the second"],
    );
  });
});
