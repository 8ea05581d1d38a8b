// Sockets of `ws` as the socket of `webSocketTransport`: their states, their peers, and the end of the transport.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import WebSocket, { WebSocketServer } from "ws";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";
import { JSONRPCPeer } from "./support/portway.js";
import { webSocketTransport } from "./support/sockets.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const URL_TYPES = "url must be a string, URL or unused socket, got";

/** Starts a server, and returns its URL. `accepted` resolves to the first socket that the server accepts. */
async function serve(onConnection = () => {}, options = {}) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, ...options });
  afterThisTest(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  server.on("connection", onConnection);
  const accepted = once(server, "connection").then(([socket]) => socket);
  await once(server, "listening");
  return { url: `ws://127.0.0.1:${server.address().port}`, accepted };
}

/** Opens a socket. `events` has its messages, and the code and reason of its close. */
function open(url) {
  const socket = new WebSocket(url);
  afterThisTest(() => socket.terminate());
  const events = [];
  socket.on("error", () => {});
  socket.on("message", (data) => events.push(JSON.parse(String(data))));
  socket.on("close", (code, reason) => events.push([code, String(reason)]));
  return { socket, events };
}

function peerOver(socket, options, peerOptions) {
  const transport = webSocketTransport(socket, options);
  const peer = new JSONRPCPeer(transport, peerOptions);
  afterThisTest(() => peer.destroy());
  return { peer, transport };
}

/** Starts a client in its own process. The client calls `echo`, and prints a line when it has the answer. */
async function startClient(url) {
  const program = `
    import WebSocket from "ws";
    import init, { JSONRPCPeer } from "./pkg/node.js";
    import { webSocketTransport } from "./pkg/websocket.js";
    await init();
    const peer = new JSONRPCPeer(webSocketTransport("${url}", { WebSocket }));
    peer.method("never", () => new Promise(() => {}));
    console.log(await peer.request("echo", ["open"], { timeout: 0 }));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  afterThisTest(() => child.kill("SIGKILL"));
  return child;
}

/** Accepts one client process. Returns the process, the socket, its transport and its peer. */
async function acceptProcess(options, serverOptions) {
  const { url, accepted } = await serve(undefined, serverOptions);
  const child = await startClient(url);
  const socket = await accepted;
  const { peer, transport } = peerOver(socket, options);
  peer.method("echo", ([value]) => value);
  await once(child.stdout, "data");
  return { child, socket, transport, peer };
}

describe("webSocketTransport over a socket of ws", function () {
  this.timeout(60_000);

  it("delivers the bytes that the system holds at destroy() to a slow peer that still sends", async () => {
    let received = 0;
    const { url } = await serve((socket) => {
      const timer = setInterval(() => socket.send('{"jsonrpc":"2.0","method":"hi"}'), 200);
      socket.on("message", () => received++);
      socket.on("close", () => clearInterval(timer));
    });
    // A relay that passes 400 KB/s to the server. The messages need 3 s, and destroy() once ended the socket after 2 s.
    const relay = createServer((client) => {
      const server = connect(Number(new URL(url).port), "127.0.0.1");
      server.on("data", (data) => client.write(data));
      server.on("error", () => client.destroy());
      client.on("error", () => server.destroy());
      client.on("readable", () => {});
      const timer = setInterval(() => {
        const data = client.read(Math.min(20_000, client.readableLength) || undefined);
        if (data) server.write(data);
      }, 50);
      client.on("end", () => server.end());
      client.on("close", () => clearInterval(timer));
    });
    afterThisTest(() => relay.close());
    await once(relay.listen(0, "127.0.0.1"), "listening");
    const { socket } = open(`ws://127.0.0.1:${relay.address().port}`);
    await once(socket, "open");
    const { peer, transport } = peerOver(socket);
    await until(() => transport.state === "open", "the transport is not open");
    for (let n = 0; n < 12; n++) peer.notify("log", ["x".repeat(100_000)]);
    await until(() => socket.bufferedAmount === 0, "the system does not take the bytes", 20_000);
    peer.destroy();
    await once(socket, "close");
    assert.equal(received, 12);
  });

  for (const state of ["CLOSED", "CLOSING"])
    it(`ends at once, even without connectTimeout, if the socket is ${state}`, async () => {
      const { url, accepted } = await serve();
      const { socket: client, events } = open(url);
      const socket = await accepted;
      if (state === "CLOSED") {
        client.terminate();
        await once(socket, "close");
      } else socket.close(4000, "bye");
      assert.equal(socket.readyState, WebSocket[state]);
      const ends = [];
      const { peer, transport } = peerOver(socket, { connectTimeout: 0, onEnd: (error) => ends.push(error.reason) });
      const error = await rejection(peer.request("echo", [], { timeout: 0 }));
      assert.equal(error.reason, "peer-gone");
      assert.equal(error.message, "the attempt to connect has failed: the connection has ended");
      assert.deepEqual([ends, transport.state], [["peer-gone"], "closed"]);
      await until(() => events.length > 0);
      assert.deepEqual(events, [state === "CLOSED" ? [1006, ""] : [4000, "bye"]]);
    });

  for (const [name, end] of [
    ["the transport is closed", (transport) => transport.close()],
    ["a peer is created", (transport) => rejection(new JSONRPCPeer(transport).request("echo", [], { timeout: 0 }))],
  ])
    it(`does not throw if the application closes a connecting socket, and then ${name}`, async () => {
      const { url } = await serve();
      const { socket } = open(url);
      const transport = webSocketTransport(socket);
      socket.close();
      await end(transport);
      await until(() => socket.readyState === WebSocket.CLOSED);
      assert.equal(transport.state, "closed");
    });

  it("ends at once if the socket was closed while it was connecting", async () => {
    const { url } = await serve();
    const { socket } = open(url);
    socket.close();
    assert.equal(socket.readyState, WebSocket.CLOSING);
    const { peer, transport } = peerOver(socket);
    const error = await rejection(peer.request("echo", [], { timeout: 0 }));
    assert.equal(error.message, "the attempt to connect has failed: the connection has ended");
    assert.equal(transport.state, "closed");
  });

  it("receives the messages of a connecting socket that arrive before the peer exists", async () => {
    const { url } = await serve((socket) => socket.send('{"jsonrpc":"2.0","method":"greet","params":["early"]}'));
    const { socket } = open(url);
    const transport = webSocketTransport(socket);
    await once(socket, "open");
    assert.isTrue(socket.isPaused);
    // The message arrives during this time.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const peer = new JSONRPCPeer(transport);
    afterThisTest(() => peer.destroy());
    const greetings = [];
    peer.method("greet", ([text]) => void greetings.push(text));
    await until(() => greetings.length > 0, "the message was lost");
    assert.deepEqual(greetings, ["early"]);
  });

  it("has a listener for the errors of the socket before the peer exists", async () => {
    const { url, accepted } = await serve();
    open(url);
    const socket = await accepted;
    webSocketTransport(socket);
    // Without a listener, this call would throw.
    assert.isTrue(socket.emit("error", new Error("early")));
  });

  for (const [name, close, end] of [
    ["close()", ({ transport }) => transport.close(4401, "no ticket"), [4401, "no ticket"]],
    ["destroy()", ({ peer }) => peer.destroy(), [1000, ""]],
  ])
    it(`sends the notifications that precede ${name} in the listener of connection, but no aborted call`, async () => {
      const { url } = await serve((socket) => {
        const both = peerOver(socket);
        both.peer.notify("bye", ["for good"]);
        const controller = new AbortController();
        both.peer.request("aborted", [], { signal: controller.signal }).catch(() => {});
        controller.abort();
        close(both);
      });
      const { events } = open(url);
      await until(() => events.length > 1);
      assert.deepEqual(events, [{ jsonrpc: "2.0", method: "bye", params: ["for good"] }, end]);
    });

  const login = { jsonrpc: "2.0", method: "login" };
  for (const [name, first, closesInOnSession] of [
    ["in the listener of connection, if `first` is not a function", login, false],
    ["in onSession, if `first` is not a function", login, true],
    ["in onSession, if `first` is a function", async () => login, true],
  ])
    it(`sends \`first\`, and then the notifications that precede close(), ${name}`, async () => {
      const { url } = await serve((socket) => {
        const close = () => transport.close(4000, "bye");
        const { peer, transport } = peerOver(socket, { first, onSession: closesInOnSession ? close : undefined });
        peer.notify("bye", []);
        if (!closesInOnSession) close();
      });
      const { events } = open(url);
      await until(() => events.length > 2);
      assert.deepEqual(events, [login, { jsonrpc: "2.0", method: "bye", params: [] }, [4000, "bye"]]);
    });

  it("throws for a socket that has a transport, and for an object that is not a socket", async () => {
    const { url, accepted } = await serve();
    open(url);
    const socket = await accepted;
    const { transport } = peerOver(socket);
    const values = [socket, new EventTarget(), { addEventListener: 1, readyState: 1 }, new AbortController().signal];
    for (const value of values)
      assert.throws(() => webSocketTransport(value, { WebSocket }), TypeError, `${URL_TYPES} object`);
    transport.close();
    assert.throws(() => webSocketTransport(socket), TypeError, URL_TYPES);
  });

  it("reports a notification after close(), even if the transport was closed before the peer existed", async () => {
    const { url, accepted } = await serve();
    open(url);
    const transport = webSocketTransport(await accepted);
    transport.close(4401, "no ticket");
    const errors = [];
    const peer = new JSONRPCPeer(transport, { onError: (error) => errors.push(error) });
    afterThisTest(() => peer.destroy());
    peer.notify("log", []);
    const error = await rejection(peer.request("echo", []));
    assert.deepEqual([error.reason, errors.map(({ reason }) => reason)], ["peer-gone", ["peer-gone"]]);
  });

  it("closes with 1000 instead of a code that browsers do not accept, such as 1008", async () => {
    const { url } = await serve((socket) => webSocketTransport(socket).close(1008, "policy"));
    const { events } = open(url);
    await until(() => events.length > 0);
    assert.deepEqual(events, [[1000, "policy"]]);
  });

  it("rejects the calls to a process that is killed (SIGKILL)", async () => {
    const { child, peer } = await acceptProcess();
    const call = rejection(peer.request("never", [], { timeout: 0 }));
    child.kill("SIGKILL");
    const error = await call;
    assert.deepEqual([error.reason, error.data.code], ["peer-gone", 1006]);
  });

  it("rejects the calls to a process that is stopped (SIGSTOP), and ends its socket", async () => {
    const { child, socket, peer } = await acceptProcess({ heartbeat: 300 });
    child.kill("SIGSTOP");
    const error = await rejection(peer.request("never", [], { timeout: 0 }));
    assert.deepEqual([error.reason, error.data.code], ["peer-gone", 1006]);
    assert.include(error.message, "no answer to rpc.ping");
    await until(() => socket.readyState === WebSocket.CLOSED, "the socket is not closed");
  });

  for (const [name, bytes] of [
    ["", 0],
    [", and bytes are unsent", 8_000_000],
  ])
    it(`ends the socket within closeTimeout of ws after close() if the process of the peer is stopped${name}`, async () => {
      const { child, socket, transport, peer } = await acceptProcess({}, { closeTimeout: 3_000 });
      child.kill("SIGSTOP");
      if (bytes) peer.notify("log", ["x".repeat(bytes)]);
      assert.equal(socket.bufferedAmount > 0, bytes > 0);
      transport.close(4000, "bye");
      assert.equal(socket.readyState, WebSocket.CLOSING);
      await until(() => socket.readyState === WebSocket.CLOSED, "the socket is not closed", 20_000);
    });
});
