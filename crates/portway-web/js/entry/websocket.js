// `portway/websocket`: a transport over a WebSocket that reconnects. It works with the clients, servers and peers of
// every entry of `portway`.

export { ReconnectPolicy } from "../websocket/reconnect-policy.js";
export { webSocketTransport } from "../websocket/websocket-transport.js";
