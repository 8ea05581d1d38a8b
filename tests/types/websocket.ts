// Tests the types of `portway/websocket` and `portway/subscription`: options, items of subscriptions, and errors.

import { JSONRPCClient, JSONRPCPeer, JSONRPCServer } from "portway";
import { subscribe } from "portway/subscription";
import { ReconnectPolicy, webSocketTransport, type ConnectionLost } from "portway/websocket";
import { same, type Equal } from "./equal.js";

declare class SomeWebSocket {
  constructor(url: string, protocols?: string | string[]);
}

const transport = webSocketTransport("wss://example.org", {
  WebSocket: SomeWebSocket,
  protocols: () => ["jsonrpc-2.0", "ticket"],
  first: async () => [{ jsonrpc: "2.0", method: "login" }, "text"],
  heartbeat: false,
  reconnect: { base: 100, jitter: (delay, attempt) => delay + attempt },
  shouldReconnect: ({ code, attempt, hasOpened }) => (hasOpened && code === 1000 ? attempt < 3 : undefined),
  onSession: ({ number, url, protocol }) => `${number.toFixed()} ${url.trim()} ${protocol.trim()}`,
  onLost: (error) => same<Equal<typeof error, ConnectionLost>>(true),
  onRetry: ({ delay, code }) => same<Equal<typeof delay | typeof code, number>>(true),
  onEnd: ({ data, reason }) => [data.code, data.wasClean, reason === "peer-gone"],
});
webSocketTransport(async () => "wss://example.org");
webSocketTransport({ href: "wss://example.org" }, { reconnect: false });
webSocketTransport("wss://example.org", { protocols: ["a", "b"] as const });
webSocketTransport("wss://example.org", { first: [[{ jsonrpc: "2.0", method: "login" }], "text"] as const });

/** The members of a socket of `ws` that matter. */
declare class SocketOfServer {
  readonly readyState: 0 | 1 | 2 | 3;
  addEventListener<K extends "open" | "message">(type: K, listener: (event: { type: K }) => void, options?: {}): void;
  removeEventListener<K extends "open" | "message">(type: K, listener: (event: { type: K }) => void): void;
  send(data: string | Uint8Array, done?: (error?: Error) => void): void;
  close(code?: number, data?: string | Uint8Array): void;
}
webSocketTransport(new SocketOfServer(), { onEnd: ({ data }) => data.code.toFixed() });
same<Equal<typeof transport.state, "idle" | "connecting" | "open" | "held" | "waiting" | "closed">>(true);
transport.close(4000, "bye");
transport.close();

const client = new JSONRPCClient(transport);
new JSONRPCServer(transport);
new JSONRPCPeer(transport).destroy();
const result = client.request("read", {}, { idempotent: true });
same<Equal<typeof result, Promise<unknown>>>(true);

type Api = { add: { params: [number, number]; result: number } };
const typed = new JSONRPCClient<Api>(transport);
const blocks = subscribe<{ number: string }>(typed, {
  transport,
  method: "eth_subscribe",
  params: ["newHeads"],
  unsubscribe: "eth_unsubscribe",
  notification: "eth_subscription",
  onGap: ({ since, dropped }) => same<Equal<typeof since | typeof dropped, number>>(true),
});
for await (const block of blocks) same<Equal<typeof block, { number: string }>>(true);

const policy = new ReconnectPolicy({ base: 1 });
policy.lost(0, 1006, "stop");
same<Equal<typeof policy.due, number | undefined>>(true);

// @ts-expect-error the transport is missing
subscribe(client, { method: "a", notification: "b" });
// @ts-expect-error the heartbeat must be a number or `false`
webSocketTransport("wss://example.org", { heartbeat: true });
// @ts-expect-error the URL has no `href`
webSocketTransport({});
// @ts-expect-error protocols must be strings
webSocketTransport("wss://example.org", { protocols: {} });
// @ts-expect-error protocols must be strings
webSocketTransport("wss://example.org", { protocols: new Set(["a"]) });
// @ts-expect-error a WebSocket must be a class
webSocketTransport("wss://example.org", { WebSocket: () => new SocketOfServer() });
// @ts-expect-error shouldReconnect must not be asynchronous
webSocketTransport("wss://example.org", { shouldReconnect: async () => true });
// @ts-expect-error idempotent must be a boolean
client.request("read", {}, { idempotent: "yes" });
// @ts-expect-error the signal has no `addEventListener`
subscribe(client, { transport, method: "a", notification: "b", signal: {} });
// @ts-expect-error unknown verdict
policy.lost(0, 1006, "later");
// @ts-expect-error unknown method, because `ReconnectPolicy` sets no timers
policy.schedule();
