// The far end of a connection over a worker or an iframe. It answers the calls of the page, and calls the page.
import { log, logArrivals, logPosts } from "/story/describe.js";
import init, { connect } from "/pkg/portway.js";
import { exchange, serveCalls } from "/story/calls.js";
import { offerLog } from "/story/far-log.js";
import { randomOf } from "/story/random.js";

const isWorker = typeof window === "undefined";
logArrivals([MessagePort, ...(isWorker ? [DedicatedWorkerGlobalScope] : [Window])]);
for (const owner of [MessagePort.prototype, ...(isWorker ? [self] : [])]) logPosts(owner, "postMessage");

offerLog();
await init();
const peer = await connect(isWorker ? self : parent);
serveCalls(peer).method("exchange", async ([seed, count]) => {
  const before = log.sent.length + log.received.length;
  await exchange(peer, randomOf(seed), count, () => log.sent.length + log.received.length - before);
});
