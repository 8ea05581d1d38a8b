// `portway/websocket`: a transport over a WebSocket that reconnects, and subscriptions over it. The transport works
// with the clients, servers and peers of every entry of `portway`.

export { ReconnectPolicy } from "../websocket/reconnect-policy.js";
export { subscribe } from "../websocket/subscription.js";
export { webSocketTransport } from "../websocket/websocket-transport.js";
