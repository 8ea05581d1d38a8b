// Runs in the page: compares the client of Portway with a minimal client on a `WebSocket`. Both clients call the same
// server. In each round, each client runs once. Every second round begins with the other client. The page posts its
// results, because a debugging client would slow the page.

import init, { JSONRPCClient } from "../../pkg/inline.js";
import { webSocketTransport } from "../../pkg/websocket.js";

/** The number of rounds before the measurement. In these rounds, the browser compiles the code. */
const WARM_UP = 5;

class BareClient {
  #socket;
  #id = 0;
  #resolvers = new Map();

  constructor(socket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      const resolve = this.#resolvers.get(id);
      this.#resolvers.delete(id);
      resolve(result);
    };
  }

  request(method, params) {
    return new Promise((resolve) => {
      const id = ++this.#id;
      this.#resolvers.set(id, resolve);
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }
}

const check = (number, result) => {
  if (result.number !== number)
    throw new Error(`the result must have the number ${number}, got ${JSON.stringify(result)}`);
};

const runs = {
  async sequential(client, count) {
    for (let number = 0; number < count; number++)
      check(number, await client.request("echo", { text: "hello", number }));
  },
  async burst(client, count) {
    const calls = Array.from({ length: count }, (_, number) => client.request("echo", { text: "hello", number }));
    for (const [number, result] of (await Promise.all(calls)).entries()) check(number, result);
  },
};

const post = (body) => fetch("/", { method: "POST", body: JSON.stringify(body) });

try {
  const { run, calls, rounds } = await (await fetch("/plan")).json();
  const url = `ws://${location.host}/`;
  await init();
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const clients = {
    "page-bare": new BareClient(socket),
    "page-portway": new JSONRPCClient(webSocketTransport(url)),
  };
  const results = { "page-bare": [], "page-portway": [] };
  for (let round = -WARM_UP; round < rounds; round++) {
    const ids = Object.keys(clients);
    for (const id of round % 2 === 0 ? ids : ids.reverse()) {
      const start = performance.now();
      await runs[run](clients[id], calls);
      const us = ((performance.now() - start) * 1e3) / calls;
      if (round >= 0) results[id].push({ us });
    }
  }
  await post({ results });
} catch (error) {
  await post({ error: `${error}\n${error?.stack}` });
}
