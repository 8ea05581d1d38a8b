// A WebSocket server in its own process, so that specs can kill or stop it. It answers JSON-RPC without a library. The
// parent process sends commands `{ id, command, … }`, and receives `{ id, result }` for each command.

import { WebSocketServer } from "ws";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, executionsFile] = process.argv.slice(2);
/** All accepted connections in the order of their arrival, each with its received messages and with its close. */
const log = [];
const sockets = new Map();
let connections = 0;
/** The answer to each upgrade request: "accept", "hang" (no answer), or the HTTP status of a refusal. */
let upgrades = "accept";
/** While this is true, the server reads requests and does not answer them. */
let isMute = false;
/** Whether the server answers the notification `rpc.ping` with `rpc.pong`, as a peer of Portway does. */
let answersPings = false;
/** Whether the server accepts the first subprotocol that a client offers. Otherwise, it accepts none. */
let choosesProtocol = true;
let nextSubscription = 0;

const server = createServer();
const webSockets = new WebSocketServer({
  noServer: true,
  maxPayload: 64 * 1024 * 1024,
  handleProtocols: (protocols) => (choosesProtocol ? [...protocols][0] : false),
});
server.on("upgrade", (request, socket, head) => {
  socket.on("error", () => {});
  if (upgrades === "hang") return;
  if (upgrades !== "accept") return socket.end(`HTTP/1.1 ${upgrades} Refused\r\ncontent-length: 0\r\n\r\n`);
  webSockets.handleUpgrade(request, socket, head, (webSocket) => connect(webSocket, request));
});

function connect(webSocket, request) {
  const connection = {
    number: ++connections,
    url: request.url,
    protocols: request.headers["sec-websocket-protocol"] ?? null,
    received: [],
    closed: undefined,
  };
  log.push(connection);
  sockets.set(connection.number, webSocket);
  webSocket.on("error", () => {});
  webSocket.on("close", (code, reason) => {
    connection.closed = { code, reason: String(reason) };
    connection.closedAt = Date.now();
    sockets.delete(connection.number);
  });
  webSocket.on("message", (data) => {
    const text = String(data);
    connection.received.push(text.length > 1_000 ? `${text.slice(0, 100)}… ${text.length}` : text);
    if (isMute) return;
    answer(JSON.parse(text), (message) => webSocket.send(JSON.stringify(message)), webSocket);
  });
}

function answer(message, send, webSocket) {
  if (Array.isArray(message)) {
    const answers = [];
    for (const part of message) answer(part, (answer) => answers.push(answer), webSocket);
    return answers.length > 0 && send(answers);
  }
  const { id, method, params } = message;
  if (method === "rpc.ping" && id === undefined && answersPings) return send({ jsonrpc: "2.0", method: "rpc.pong" });
  if (method === undefined || id === undefined) return;
  const resolve = (result) => send({ jsonrpc: "2.0", result, id });
  if (method === "echo") return resolve(params ?? null);
  if (method === "run") {
    // The call is written to the file before the answer is sent, because a kill may happen between the two.
    const [call, delay] = params;
    appendFileSync(executionsFile, `${call}\n`);
    return void setTimeout(() => resolve(call), delay);
  }
  if (method === "length") return resolve(JSON.stringify(params).length);
  if (method === "large") return resolve("x".repeat(params[0]));
  // Each request of this method ends its connection.
  if (method === "end") return webSocket.terminate();
  if (method === "never") return;
  if (method === "slow") return void setTimeout(() => resolve("late"), params[0]);
  if (method === "subscribe" || method === "subscribe_eagerly") {
    const subscription = `0x${++nextSubscription}`;
    const event = (result) =>
      JSON.stringify({ jsonrpc: "2.0", method: "subscription", params: { subscription, result } });
    webSocket.subscription = subscription;
    // After `subscribe_eagerly`, the client receives events before the response with the subscription's id.
    if (method === "subscribe") resolve(subscription);
    for (const item of params) webSocket.send(event(item));
    if (method !== "subscribe") resolve(subscription);
    return;
  }
  if (method === "unsubscribe") return resolve(true);
  send({ jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id });
}

const commands = {
  log: () => log,
  set(values) {
    if (values.upgrades !== undefined) upgrades = values.upgrades;
    if (values.isMute !== undefined) isMute = values.isMute;
    if (values.answersPings !== undefined) answersPings = values.answersPings;
    if (values.choosesProtocol !== undefined) choosesProtocol = values.choosesProtocol;
  },
  close: ({ code, reason }) => sockets.forEach((socket) => socket.close(code, reason)),
  terminate: () => sockets.forEach((socket) => socket.terminate()),
  send: ({ text, bytes }) => sockets.forEach((socket) => socket.send(text ?? Buffer.from(bytes))),
  event: ({ item, subscription }) =>
    sockets.forEach((socket) => {
      const params = { subscription: subscription ?? socket.subscription, result: item };
      socket.send(JSON.stringify({ jsonrpc: "2.0", method: "subscription", params }));
    }),
  pause: () => sockets.forEach((socket) => socket.pause()),
  resume: () => sockets.forEach((socket) => socket.resume()),
};

process.on("message", ({ id, command, ...values }) => {
  process.send({ id, result: commands[command](values) ?? null });
});
process.on("disconnect", () => process.exit());
server.listen(Number(port), "127.0.0.1", () => process.send({ port: server.address().port }));
