// Runs those kinds of bounds.json that Node has: ends of workers, of ports to workers, and of WebSockets.

import { MessageChannel, Worker } from "node:worker_threads";
import WebSocket from "ws";
import init, { JSONRPCPeer, connect } from "../../pkg/node.js";
import { webSocketTransport } from "../../pkg/websocket.js";
import { startSockets } from "../web/runner/sockets.mjs";
import { RUNS, endOf, repeat, measure, measureStart, pause } from "./page/measure.js";
import { socketKinds } from "./page/socket-kinds.js";
import { spin } from "./fixtures/serve.js";

const connectTimeout = 60_000;
/** Kinds that may take this number of milliseconds or more run at the same time, before the other kinds. */
const SLOW_MS = 10_000;
const fixtureUrl = (file) => new URL(`fixtures/${file}`, import.meta.url);

const start = (file) => new Worker(fixtureUrl(file));

async function connected(options) {
  const worker = start("node-worker.mjs");
  return { worker, peer: await connect(worker, { connectTimeout, ...options }) };
}

async function connectedOverPort() {
  const worker = start("node-worker.mjs");
  const { port1, port2 } = new MessageChannel();
  worker.postMessage({ type: "port", port: port2 }, [port2]);
  return { worker, peer: await connect(port1, { connectTimeout }) };
}

const close = ({ worker }) => worker.terminate();
const post =
  (type) =>
  ({ worker }) =>
    worker.postMessage({ type });

function startOf(file) {
  const workers = [];
  const begin = () => {
    workers.push(start(file));
    return connect(workers.at(-1));
  };
  return measureStart({ begin }).finally(() => workers.forEach((worker) => worker.terminate()));
}

/**
 * Makes calls without a response, runs `meanwhile(pairs)`, and makes calls that must be answered. Returns the reasons
 * of the faults, as the function of the same name in page/not-dead.js does.
 */
async function stayAlive(options, meanwhile) {
  const pairs = await repeat(RUNS, () => connected(options));
  const ended = [];
  for (const { peer } of pairs) endOf(peer.request("never", [], { timeout: 0 })).then((end) => ended.push(end));
  await meanwhile(pairs);
  await pause(1_000);
  const answers = await Promise.all(pairs.map(({ peer }) => endOf(peer.request("echo"))));
  const endedCalls = [...ended, ...answers.filter(({ reason }) => reason !== "answered")];
  for (const { peer, worker } of pairs) peer.destroy(), worker.terminate();
  return endedCalls.map(({ reason }) => reason);
}

const kinds = {
  "a Node worker is terminated": () => measure({ open: connected, kill: close }),
  "a Node worker exits": () => measure({ open: connected, kill: post("exit") }),
  "a Node worker throws": () => measure({ open: connected, kill: post("throw") }),
  "a Node worker's script is missing": () => startOf("nowhere.mjs"),
  "a Node worker's script throws when it starts": () => startOf("throwing-worker.js"),
  "in Node, the holder of the other port destroys its peer": () =>
    measure({ open: connectedOverPort, kill: post("destroy"), close }),
  "in Node, the thread that holds the other port is terminated": () =>
    measure({ open: connectedOverPort, kill: close }),
  "a Node worker blocks for three seconds": () =>
    stayAlive({}, (pairs) => Promise.all(pairs.map(({ peer }) => peer.request("block", [3_000])))),
  "this thread of Node blocks for three seconds, with a heartbeat of half a second": () =>
    stayAlive({ heartbeat: 500 }, async () => spin(3_000)),
};

/** Resolves to the outcomes of the kinds, by id. */
export async function runKinds(_engine, wanted) {
  await init();
  const sockets = startSockets();
  const all = {
    ...kinds,
    ...socketKinds({ JSONRPCPeer, webSocketTransport }, { WebSocket }, (_driver, command) => sockets.handle(command)),
  };
  const results = {};
  const run = async ({ id }) => {
    try {
      results[id] = { ends: await all[id]() };
    } catch (error) {
      results[id] = { error: `${error}` };
    }
  };
  const isSlow = ({ within }) => within >= SLOW_MS;
  try {
    await Promise.all(wanted.filter(isSlow).map(run));
    for (const kind of wanted) if (!isSlow(kind)) await run(kind);
  } finally {
    sockets.stop();
  }
  return results;
}
