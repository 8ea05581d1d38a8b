// Reads five items of the subscription `subscribe_count` of a server with jsonrpsee: `counted.mjs URL`. Prints the
// items.

import WebSocket from "ws";
import init, { JSONRPCClient } from "../../../pkg/node.js";
import { subscribe } from "../../../pkg/subscription.js";
import { webSocketTransport } from "../../../pkg/websocket.js";

await init();
const transport = webSocketTransport(process.argv[2], { WebSocket });
const client = new JSONRPCClient(transport);
const subscription = {
  transport,
  method: "subscribe_count",
  params: [5],
  unsubscribe: "unsubscribe_count",
  notification: "counted",
};
const items = [];
for await (const item of subscribe(client, subscription)) {
  items.push(item);
  if (items.length === 5) break;
}
client.destroy();
console.log(items.join(" "));
