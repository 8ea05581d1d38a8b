// Tests ports whose peer ends, and a peer of this page that is destroyed.

import { connectTimeout, frame, fixtureUrl, untilReady, connectOverPort } from "./boundaries.js";
import { measure } from "./measure.js";

const close = ({ worker }) => worker.terminate();

/** Adds an iframe of this origin to `parent`. The page can create peers in the realm of this iframe. */
async function holder(parent) {
  const element = parent.document.createElement("iframe");
  element.src = fixtureUrl("holder.html");
  parent.document.body.append(element);
  await untilReady(element.contentWindow);
  return element;
}

/** Connects two iframes over a port. One of them, `inner`, is inside the iframe `outer`, which the page can remove. */
async function siblings() {
  const [outer, sibling] = await Promise.all([holder(window), holder(window)]);
  const inner = await holder(outer.contentWindow);
  const { port1, port2 } = new MessageChannel();
  const { methods } = await import(fixtureUrl("serve.js"));
  inner.contentWindow.connect(port1, { connectTimeout, methods });
  const { connect, performance } = sibling.contentWindow;
  return { outer, sibling, peer: await connect(port2, { connectTimeout }), clock: performance };
}

export const ports = {
  "the holder of the other port destroys its peer": () =>
    measure({
      open: () => connectOverPort("port-worker.js"),
      kill: ({ worker }) => worker.postMessage({ type: "close" }),
      close,
    }),
  "the worker that holds the other port is terminated by its owner": () =>
    measure({
      open: () => connectOverPort("nest.js"),
      kill: ({ worker }) => worker.postMessage({ type: "terminate" }),
      close,
    }),
  "the owner of the worker that holds the other port is terminated": () =>
    measure({ open: () => connectOverPort("nest.js"), kill: ({ worker }) => worker.terminate() }),
  "the parent of the iframe that holds the other port is removed": () =>
    measure({ open: siblings, kill: ({ outer }) => outer.remove(), close: ({ sibling }) => sibling.remove() }),
  "this peer is destroyed": () =>
    measure({
      open: () => frame("own origin"),
      kill: ({ peer }) => peer.destroy(),
      close: ({ element }) => element.remove(),
    }),
};
