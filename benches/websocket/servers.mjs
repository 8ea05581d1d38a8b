// The servers in JavaScript: `node servers.mjs serve rpc-websockets|json-rpc-2.0`. A server has the method `echo`,
// which returns its params, and the method `flood`, which sends notifications named `tick`. The server prints its port
// as a line of JSON.

import { setImmediate as nextTurn } from "node:timers/promises";
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { Server } from "rpc-websockets";
import { WebSocketServer } from "ws";

/** The number of notifications after which the server lets the socket write. */
const BURST = 256;
const MAX_BUFFERED_BYTES = 1 << 20;

const options = { host: "127.0.0.1", port: 0 };
const servers = {
  "json-rpc-2.0": serveJsonRpc,
  "rpc-websockets": serveRpcWebsockets,
};
const [part, name] = process.argv.slice(2);
if (part !== "serve" || !(name in servers))
  throw new Error(`the arguments must be serve ${Object.keys(servers).join("|")}`);
servers[name]();

function printPort(server) {
  server.on("listening", () => console.log(JSON.stringify({ port: server.address().port })));
}

/** Sends notifications by calls of `notify`. Waits while the socket buffers more than `MAX_BUFFERED_BYTES`. */
async function flood(socket, count, notify) {
  for (let number = 0; number < count; number++) {
    notify({ text: "hello", number });
    if (number % BURST === 0)
      do await nextTurn();
      while (socket.bufferedAmount > MAX_BUFFERED_BYTES);
  }
  return null;
}

function serveRpcWebsockets() {
  const server = new Server(options);
  printPort(server.wss);
  server.event("tick");
  server.register("echo", (params) => params);
  server.register("flood", ({ count }, id) => {
    const socket = server.of("/").clients().clients.get(id);
    return flood(socket, count, (params) => server.emit("tick", params));
  });
}

function serveJsonRpc() {
  const server = new WebSocketServer(options);
  printPort(server);
  server.on("connection", (socket) => {
    const peer = new JSONRPCServerAndClient(
      new JSONRPCServer(),
      new JSONRPCClient((message) => socket.send(JSON.stringify(message))),
    );
    peer.addMethod("echo", (params) => params);
    peer.addMethod("flood", ({ count }) => flood(socket, count, (params) => peer.notify("tick", params)));
    socket.on("message", (data) => peer.receiveAndSend(JSON.parse(data)));
  });
}
