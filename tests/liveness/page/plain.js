// Tests transports without `connect`. They detect only some of the ways in which a peer can end. In the other cases, a
// call ends only by its timeout.

import { frameElement, iframeKinds, portway, worker } from "./boundaries.js";
import { measure, measureStart } from "./measure.js";

const { JSONRPCPeer, portTransport, windowTransport, workerTransport } = portway;

/** The timeout in milliseconds of calls that nothing else ends. */
const timeout = 1_500;

/** Resolves when a window or a worker has posted the message `ready`. */
function untilMessage(target, isSender) {
  return new Promise((resolve) => {
    target.addEventListener("message", function listener(event) {
      if (event.data?.type !== "ready" || !isSender(event)) return;
      target.removeEventListener("message", listener);
      resolve();
    });
  });
}

const untilReady = (element) => untilMessage(window, ({ source }) => source === element.contentWindow);

async function plainFrame() {
  const element = frameElement("own origin", "plain-frame.html");
  await untilReady(element);
  const { origin } = iframeKinds["own origin"];
  return { element, peer: new JSONRPCPeer(windowTransport(element.contentWindow, { origin })) };
}

async function plainWorker() {
  const started = worker("plain-worker.js");
  await untilMessage(started, () => true);
  return { worker: started, peer: new JSONRPCPeer(workerTransport(started)) };
}

/** Opens a channel. This page uses both of its ports. */
function plainPort() {
  const { port1, port2 } = new MessageChannel();
  const otherPeer = new JSONRPCPeer(portTransport(port2))
    .method("never", () => new Promise(() => {}))
    .method("echo", () => {});
  return { otherPeer, peer: new JSONRPCPeer(portTransport(port1)) };
}

const remove = ({ element }) => element.remove();

/**
 * If many iframes are removed while they load, WebKit stops loading. So `reload.close` waits for the end of the reload.
 */
const reload = {
  kill(pair) {
    pair.reloaded = untilReady(pair.element);
    pair.element.contentWindow.postMessage({ type: "reload" });
  },
  close: ({ element, reloaded }) => reloaded?.then(() => element.remove()),
};
const terminate = ({ worker }) => worker.terminate();

export const plain = {
  "windowTransport: the iframe is removed": () => measure({ open: plainFrame, kill: remove }),
  "windowTransport: the iframe is reloaded": () => measure({ open: plainFrame, ...reload, timeout }),
  "workerTransport: the worker's script is missing": () => {
    const begin = () => new JSONRPCPeer(workerTransport(worker("nowhere.js"))).request("never", [], { timeout: 0 });
    return measureStart({ begin });
  },
  "workerTransport: the worker is terminated": () => measure({ open: plainWorker, kill: terminate, timeout }),
  "portTransport: the other peer is destroyed": () =>
    measure({ open: plainPort, kill: ({ otherPeer }) => otherPeer.destroy(), timeout }),
};
