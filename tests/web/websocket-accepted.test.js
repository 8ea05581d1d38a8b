// `webSocketTransport` over a socket that is open or connects, such as a socket that a server has accepted.

import { assert } from "chai";
import { JSONRPCPeer, inNode } from "./support/portway.js";
import { sockets, startServer, webSocketTransport } from "./support/sockets.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const WebSocket = sockets.WebSocket ?? globalThis.WebSocket;

/** Returns a peer over the socket, and the errors and ends of its transport. */
function peerOver(socket, options) {
  const ends = [];
  const transport = webSocketTransport(socket, { onEnd: (error) => ends.push(error), ...options });
  const peer = new JSONRPCPeer(transport);
  afterThisTest(() => peer.destroy());
  return { peer, transport, ends };
}

describe("webSocketTransport over a socket", () => {
  for (const isOpen of [true, false])
    it(`calls the peer, and makes no attempt after the end of the socket, if the socket ${isOpen ? "is open" : "is connecting"}`, async () => {
      const server = await startServer();
      const socket = new WebSocket(server.url);
      if (isOpen) await new Promise((resolve) => socket.addEventListener("open", resolve));
      const sessions = [];
      const { peer, transport, ends } = peerOver(socket, { onSession: ({ number }) => sessions.push(number) });
      assert.deepEqual(await peer.request("echo", [1]), [1]);
      const call = rejection(peer.request("never", [], { timeout: 0, idempotent: true }));
      await server.command("close", { code: 4000, reason: "bye" });
      const error = await call;
      assert.deepEqual([error.reason, error.data.code, error.data.reason], ["peer-gone", 4000, "bye"]);
      assert.equal(error.message, "the connection has ended with code 4000: bye");
      assert.deepEqual([transport.state, sessions.length, ends.length], ["closed", 1, 1]);
      assert.lengthOf(await server.log(), 1);
    });

  it("closes the socket if the transport is closed, or its peer is destroyed, in the task that created the transport", async () => {
    const server = await startServer();
    for (const [close, code, reason] of [
      [({ transport }) => transport.close(4401, "no ticket"), 4401, "no ticket"],
      [({ peer }) => peer.destroy(), 1000, ""],
    ]) {
      const socket = new WebSocket(server.url);
      await new Promise((resolve) => socket.addEventListener("open", resolve));
      close(peerOver(socket));
      const log = await server.logOnce((log) => log.at(-1).closed !== undefined);
      assert.deepEqual(log.at(-1).closed, { code, reason });
    }
    const socket = new WebSocket(server.url);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    webSocketTransport(socket).close(4402, "no client");
    const log = await server.logOnce((log) => log.length === 3 && log[2].closed !== undefined);
    assert.deepEqual(log[2].closed, { code: 4402, reason: "no client" });
  });

  if (inNode)
    describe("that a server of ws has accepted", () => {
      /** Starts a server, and returns its URL. */
      async function serve(onConnection) {
        const { WebSocketServer } = await import("ws");
        const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
        afterThisTest(() => {
          for (const socket of server.clients) socket.terminate();
          server.close();
        });
        await new Promise((listening) => server.once("listening", listening));
        server.on("connection", onConnection);
        return `ws://127.0.0.1:${server.address().port}`;
      }

      /** Opens a socket that sends `text` at once. Returns the events of the socket. */
      function open(url, text) {
        const socket = new WebSocket(url);
        afterThisTest(() => socket.terminate());
        const events = [];
        socket.on("open", () => text && socket.send(text));
        socket.on("message", (data) => events.push(JSON.parse(String(data))));
        socket.on("close", (code, reason) => events.push([code, String(reason)]));
        return events;
      }

      const ADD = '{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}';
      const SUM = { jsonrpc: "2.0", result: 3, id: 1 };

      it("receives the messages that arrive before the client, server or peer exists", async () => {
        const url = await serve(async (socket) => {
          const transport = webSocketTransport(socket);
          // The message of the client arrives during this time.
          await new Promise((resolve) => setTimeout(resolve, 300));
          const peer = new JSONRPCPeer(transport);
          peer.method("add", ([a, b]) => a + b);
        });
        const events = open(url, ADD);
        await until(() => events.length > 0);
        assert.deepEqual(events, [SUM]);
      });

      it("is closed with the code that the listener of `connection` passes to `close`, even if a message has arrived", async () => {
        const url = await serve((socket) => {
          const transport = webSocketTransport(socket);
          new JSONRPCPeer(transport);
          transport.close(4401, "no ticket");
        });
        const events = open(url, ADD);
        await until(() => events.length > 0);
        assert.deepEqual(events, [[4401, "no ticket"]]);
      });
    });
});
