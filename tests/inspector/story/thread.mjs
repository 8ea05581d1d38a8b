// A Node program and its worker thread call `connect`. A tap records the sessions of the program.
import { Worker } from "node:worker_threads";
import init, { connect } from "../../../pkg/node.js";
import { TapRecorder, sessionTap } from "../../../pkg/tap.js";
import { eventually, within } from "../../peers/websocket/programs.mjs";
import { exchange, serveCalls } from "./calls.js";
import { log, logArrivals, logPosts } from "./describe.js";
import { farLog } from "./far-log.js";

logArrivals([MessagePort]);
for (const owner of [MessagePort.prototype, Worker.prototype]) logPosts(owner, "postMessage");

/** Exchanges random messages. Returns the records as text, and the log of both ends. Writes no files to the folder. */
export async function workerThread(_, random, count) {
  await init();
  const records = [];
  const recorder = new TapRecorder({ sink: (batch) => void records.push(...batch), maxBytes: 2 ** 28 });
  const worker = new Worker(new URL("far-thread.mjs", import.meta.url));
  const peer = await connect(worker, { tap: sessionTap({ name: "thread", sink: recorder }) });
  serveCalls(peer);
  await exchange(peer, random, count / 2, () => log.sent.length + log.received.length);
  await peer.request("exchange", [random(2 ** 31), count / 2], { timeout: 0 });
  peer.destroy();
  const far = await within("the log of the thread", farLog());
  const closed = () => (records.some(({ kind }) => kind === "close") ? true : undefined);
  await eventually("the end of the link", closed);
  await worker.terminate();
  return { text: records.map((record) => JSON.stringify(record)).join("\n"), log: { near: log, far } };
}
