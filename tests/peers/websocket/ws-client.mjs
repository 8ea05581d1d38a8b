// Calls a server with `webSocketTransport` and the package `ws`: `ws-client.mjs URL`. Prints the answers as JSON. The
// server must have the method `add`, and the method `ask`, which calls `name` of this client.

import WebSocket from "ws";
import init, { JSONRPCPeer } from "../../../pkg/node.js";
import { webSocketTransport } from "../../../pkg/websocket.js";

await init();
const peer = new JSONRPCPeer(webSocketTransport(process.argv[2], { WebSocket }));
peer.method("name", () => "Ada");
const added = await peer.request("add", [1, 2]);
const unknown = await peer.request("nope").catch(({ code }) => code);
const asked = await peer.request("ask", ["é€😀".repeat(50_000)]);
const many = await Promise.all(Array.from({ length: 1_000 }, (_, number) => peer.request("add", [number, 1])));
const inOrder = many.every((sum, number) => sum === number + 1);
peer.destroy();
console.log(JSON.stringify({ added, unknown, asked, inOrder }));
