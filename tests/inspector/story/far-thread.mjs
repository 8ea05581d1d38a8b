// The worker thread that thread.mjs starts. It answers the calls of the program, and calls the program.
import { parentPort } from "node:worker_threads";
import init, { connect } from "../../../pkg/node.js";
import { exchange, serveCalls } from "./calls.js";
import { log, logArrivals, logPosts } from "./describe.js";
import { offerLog } from "./far-log.js";
import { randomOf } from "./random.js";

logArrivals([MessagePort]);
logPosts(MessagePort.prototype, "postMessage");
offerLog();
await init();
const peer = await connect(parentPort);
serveCalls(peer).method("exchange", async ([seed, count]) => {
  const before = log.sent.length + log.received.length;
  await exchange(peer, randomOf(seed), count, () => log.sent.length + log.received.length - before);
});
