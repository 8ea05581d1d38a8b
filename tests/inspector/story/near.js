// A page that calls `connect` over a worker or over an iframe, with a tap on the sessions. The inspector in another tab
// reads the tap.
import { log, logArrivals, logPosts } from "/story/describe.js";
import init, { connect } from "/pkg/portway.js";
import { sessionTap, TapRecorder } from "/pkg/tap.js";
import { exchange, serveCalls } from "/story/calls.js";
import { farLog } from "/story/far-log.js";
import { randomOf } from "/story/random.js";

logArrivals([MessagePort, Worker]);
for (const owner of [MessagePort.prototype, Worker.prototype]) logPosts(owner, "postMessage");

async function opened(boundary) {
  if (boundary === "worker") return new Worker("/story/far.js", { type: "module", name: "far" });
  const element = document.createElement("iframe");
  element.src = "/story/frame.html";
  document.body.append(element);
  return element;
}

/** Exchanges random messages. Returns the logs of both ends. */
globalThis.story = async (boundary, seed, count) => {
  await init();
  const recorder = new TapRecorder({ maxBytes: 2 ** 28 });
  const peer = await connect(await opened(boundary), { tap: sessionTap({ name: boundary, sink: recorder }) });
  serveCalls(peer);
  const random = randomOf(seed);
  const crossed = () => log.sent.length + log.received.length;
  await exchange(peer, random, count / 2, crossed);
  // The far end also calls this end.
  await peer.request("exchange", [random(2 ** 31), count / 2], { timeout: 0 });
  peer.destroy();
  return { near: log, far: await farLog() };
};
