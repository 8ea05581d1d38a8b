// A JSON-RPC server with the packages `ws` and Portway. It prints its port. `add` returns a sum, `ask` calls the method
// `name` of the client, `tick` notifies the client, and `drop` ends the connection without a closing handshake.

import { WebSocketServer } from "ws";
import init, { JSONRPCPeer } from "../../../pkg/node.js";

/** Returns a transport over a socket of a server. */
const socketTransport = (socket) => ({
  send: (message) => socket.send(JSON.stringify(message)),
  onMessage(handler) {
    socket.on("message", (data) => {
      let message;
      try {
        message = JSON.parse(data);
      } catch {
        const error = { code: -32700, message: "Parse error" };
        socket.send(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
        return;
      }
      handler(message);
    });
  },
  onClose: (handler) => socket.on("close", () => handler()),
  destroy: () => socket.close(),
});

await init();
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("connection", (socket) => {
  const peer = new JSONRPCPeer(socketTransport(socket));
  peer.method("add", ([a, b]) => a + b);
  peer.method("ask", async ([text]) => [await peer.request("name", []), text.length]);
  peer.method("tick", () => {
    for (const tick of [0, 1, 2]) peer.notify("ticked", [tick]);
    return null;
  });
  peer.method("drop", () => socket.terminate());
});
server.on("listening", () => console.log(`listening on port ${server.address().port}`));
