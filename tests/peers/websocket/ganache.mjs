// Tests `subscribe` with ganache, an Ethereum node that makes a block each second: `node
// tests/peers/websocket/ganache.mjs`. PORTWAY_GANACHE names its JavaScript file.

import assert from "node:assert/strict";
import WebSocket from "ws";
import init, { JSONRPCClient } from "../../../pkg/node.js";
import { subscribe } from "../../../pkg/subscription.js";
import { webSocketTransport } from "../../../pkg/websocket.js";
import { Suite } from "../../packaging/suite.mjs";
import { freePort, Program, programOf, within } from "./programs.mjs";

await init();
const suite = new Suite();
const port = await freePort();
const words = ["--server.port", port, "--server.host", "127.0.0.1", "--wallet.deterministic", "--miner.blockTime", "1"];
const start = () => new Program(process.execPath, [programOf("PORTWAY_GANACHE"), ...words.map(String)]);

let ganache = start();
await ganache.listens(port);

const [ids, gaps, lost, sessions, sockets] = [[], [], [], [], []];
const transport = webSocketTransport(`ws://127.0.0.1:${port}`, {
  WebSocket: class extends WebSocket {
    constructor(...words) {
      super(...words);
      sockets.push(this);
    }
  },
  reconnect: { cap: 1_000 },
  onSession: ({ number }) => sessions.push(number),
  onLost: ({ data }) => lost.push(data),
});
const client = new JSONRPCClient(transport);
const headers = subscribe(client, {
  transport,
  method: "eth_subscribe",
  params: ["newHeads"],
  unsubscribe: "eth_unsubscribe",
  notification: "eth_subscription",
  readId: (id) => {
    ids.push(id);
    return id;
  },
  onGap: (gap) => gaps.push(gap),
});

/** Reads block headers, whose numbers must increase by one. Returns the last number. */
async function readHeads(count) {
  const numbers = [];
  while (numbers.length < count) {
    const { done, value } = await within("a block header", headers.next());
    assert.ok(!done, "the subscription has ended");
    assert.match(value.hash, /^0x[0-9a-f]{64}$/);
    numbers.push(Number(value.number));
  }
  const ascending = numbers.map((_, index) => numbers[0] + index);
  assert.deepEqual(numbers, ascending);
  return numbers.at(-1);
}

await suite.test("ganache answers a call", async () => {
  assert.match(await client.request("web3_clientVersion", []), /^Ganache\/v7\.9\.2/);
});

await suite.test("a subscription receives block headers", async () => {
  await readHeads(3);
  assert.equal(ids.length, 1);
  assert.deepEqual(gaps, []);
});

for (const signal of ["SIGKILL", "SIGINT"]) {
  await suite.test(`after ${signal} and a restart, a gap is reported and the subscription continues`, async () => {
    const [subscriptions, reported, before] = [ids.length, gaps.length, Date.now()];
    await ganache.end(signal);
    ganache = start();
    // Headers that arrived before the end of the old process are read first. The new process begins a new chain.
    let number;
    do {
      number = Number((await within("a block header", headers.next())).value.number);
    } while (gaps.length === reported);
    assert.ok(number < 60, `the new chain begins at 0, got ${number}`);
    await readHeads(2);
    assert.equal(ids.length, subscriptions + 1);
    assert.equal(gaps.length, reported + 1);
    const { since, dropped } = gaps.at(-1);
    assert.equal(dropped, 0);
    assert.ok(since > 0 && since < Date.now() && since > before - 60_000, `since ${since}`);
    assert.equal(sessions.at(-1), subscriptions + 1);
    // ganache closes the connection with 1000 at SIGINT. The client must connect again even after 1000.
    assert.equal(lost.at(-1).code, signal === "SIGINT" ? 1000 : 1006);
  });
}

await suite.test("after a lost connection to the same process, the subscription has another id", async () => {
  const [subscriptions, reported] = [ids.length, gaps.length];
  sockets.at(-1).terminate();
  while (gaps.length === reported) await within("a block header", headers.next());
  await readHeads(2);
  assert.equal(ids.length, subscriptions + 1);
  assert.notEqual(ids.at(-1), ids.at(-2));
});

await suite.test("the end of the iteration ends the subscription", async () => {
  await headers.return();
  assert.equal(await client.request("eth_unsubscribe", [ids.at(-1)]), false);
});

client.destroy();
await ganache.end();
process.exit(suite.finish() ? 0 : 1);
