// A tap of `webSocketTransport`: the records have the exact texts.

import { assert } from "chai";
import { connectTo, sockets, startServer, webSocketTransport } from "./support/sockets.js";
import { JSONRPCPeer } from "./support/portway.js";
import { collected, randomOf, tap } from "./support/taps.js";
import { afterThisTest } from "./support/cleanup.js";
import { until } from "./support/outcomes.js";

/** Returns a server, and a tapped peer that is connected to it. */
async function tapped(options) {
  const server = await startServer();
  const found = collected({ maxBytes: 2 ** 26 });
  const transport = webSocketTransport(server.url, { ...sockets, reconnect: { base: 20, cap: 200 }, ...options });
  const peer = new JSONRPCPeer(tap(transport, { name: "server", sink: found.recorder }), { onError() {} });
  afterThisTest(() => peer.destroy());
  await until(() => found.ofKind("open").length === 1, "no connection was opened");
  return { server, peer, transport, ...found };
}

describe("a tapped WebSocket", () => {
  it("records exactly the texts that the server has received and sent", async () => {
    const { server, peer, texts, messages, untilMessages } = await tapped({ first: [{ login: "ü" }, '{ "raw" : 1 }'] });
    peer.method("echo", (params) => params);
    const sent = '{ "jsonrpc" : "2.0", "method":"echo", "params":[1.50,"\\u00fc😀"], "id":1e0 }';
    await server.command("send", { text: sent });
    await server.command("send", { bytes: [...new TextEncoder().encode('{"jsonrpc":"2.0","method":"note"}')] });
    await untilMessages(2, "received");
    assert.deepEqual(texts("received"), [sent, '{"jsonrpc":"2.0","method":"note"}']);
    assert.equal(messages("received")[0].size, new TextEncoder().encode(sent).length);
    await server.logOnce(([{ received }]) => received.length === 3);
    assert.deepEqual(texts("sent"), (await server.log())[0].received);
    assert.ok(messages().every(({ form }) => form === "text"));
  });

  it("records a socket that is open before the transport uses it", async () => {
    const server = await startServer();
    const WebSocket = sockets.WebSocket ?? globalThis.WebSocket;
    const socket = new WebSocket(server.url);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const { recorder, ofKind, texts } = collected({ maxBytes: 2 ** 26 });
    const peer = new JSONRPCPeer(tap(webSocketTransport(socket), { name: "server", sink: recorder }));
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    await server.command("close", { code: 4000, reason: "bye" });
    await until(() => ofKind("close").length === 1);
    assert.deepEqual([ofKind("open").length, texts("sent").length, texts("received").length], [1, 1, 1]);
  });

  it("records 10 000 random messages as the server has received and sent them", async () => {
    const { server, peer, texts, ofKind } = await tapped();
    const random = randomOf(7);
    peer.method("echo", (params) => params);
    const requests = [];
    for (let n = 0; n < 5_000; n++) {
      const params = JSON.stringify([random(), "x".repeat(random() * 20), { ü: n }]);
      requests.push(`{"jsonrpc":"2.0","method":"echo","params":${params},"id":${n}}`);
    }
    for (let n = 0; n < requests.length; n += 250)
      await Promise.all(requests.slice(n, n + 250).map((text) => server.command("send", { text })));
    await until(() => texts("sent").length === 5_000, "5 000 answers must be recorded", 20_000);
    const log = await server.logOnce(([{ received }]) => received.length === 5_000);
    assert.deepEqual(texts("sent"), log[0].received);
    assert.sameMembers(texts("received"), requests);
    assert.equal(ofKind("gap").length, 0);
  }).timeout(60_000);

  it("records a text that is not a message, and bytes that are not UTF-8, as invalid", async () => {
    const { server, ofKind } = await tapped();
    await server.command("send", { text: "{" });
    await server.command("send", { text: "5" });
    await server.command("send", { bytes: [0xff, 0xfe] });
    await until(() => ofKind("invalid").length === 3);
    const [cut, number, bytes] = ofKind("invalid");
    assert.deepEqual([cut.text, cut.size, cut.direction], ["{", 1, "received"]);
    assert.include(cut.reason, "must be JSON");
    assert.include(number.reason, "object or array");
    assert.deepEqual([bytes.base64, bytes.text, bytes.size], ["//4=", undefined, 2]);
  });

  it("a binary message is recorded with its first 1 024 bytes", async () => {
    const { server, ofKind } = await tapped();
    // Bytes that are not UTF-8 are not a text, so they are recorded as bytes.
    for (const length of [1_024, 1_025]) await server.command("send", { bytes: Array(length).fill(0xff) });
    await until(() => ofKind("invalid").length === 2);
    assert.deepEqual(
      ofKind("invalid").map(({ base64, size }) => [atob(base64), size]),
      [1_024, 1_025].map((size) => ["\xff".repeat(1_024), size]),
    );
  });

  it("has the records `open` and `close` of each connection, with the code and the reason", async () => {
    const { server, peer, ofKind, records } = await tapped();
    await server.command("close", { code: 4_200, reason: "restart" });
    await until(() => ofKind("open").length === 2, "the transport must connect again");
    assert.deepInclude(ofKind("close")[0], { code: 4_200, reason: "restart" });
    peer.destroy();
    await until(() => ofKind("close").length === 2);
    assert.equal(ofKind("close")[1].code, 1_000);
    const kinds = records.map(({ kind }) => kind).filter((kind) => kind !== "message");
    assert.deepEqual(kinds, ["open", "close", "open", "close"]);
    assert.equal(records[0].transport, "websocket");
  });

  it("records at most 262 144 characters of a text, and the size of the whole text", async () => {
    const { server, peer, messages, untilMessages } = await tapped();
    peer.notify("note", ["ü".repeat(300_000)]);
    await untilMessages(1, "sent");
    const [{ text, omitted, size }] = messages("sent");
    const whole = JSON.stringify({ jsonrpc: "2.0", method: "note", params: ["ü".repeat(300_000)] });
    await server.logOnce(([{ received }]) => received.length === 1);
    assert.equal(text.length, 262_144);
    assert.ok(whole.startsWith(text));
    assert.equal(omitted, whole.length - 262_144);
    assert.equal(size, new TextEncoder().encode(whole).length);
  });

  it("is not recorded after the recorder is destroyed", async () => {
    const { server, peer, recorder, messages, ofKind } = await tapped();
    peer.notify("one");
    recorder.destroy();
    await until(() => ofKind("close").length === 1);
    peer.notify("two");
    await server.logOnce(([{ received }]) => received.length === 2);
    assert.equal(messages().length, 1);
  });
});

it("a WebSocket that is not tapped sends its messages", async () => {
  const server = await startServer();
  const { peer, session } = connectTo(server.url);
  await session();
  peer.notify("note");
  await server.logOnce(([{ received }]) => received.length === 1);
});
