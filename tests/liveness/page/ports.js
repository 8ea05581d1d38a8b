// Ports whose peer dies, and the end of this side itself.

import { connectTimeout, frame, fixtureUrl, ready, workersPort } from "./boundaries.js";
import { measure } from "./measure.js";

const close = ({ worker }) => worker.terminate();

/** A frame of this origin that lets the page open ends in its name, within `parent`. */
async function holder(parent) {
  const element = parent.document.createElement("iframe");
  element.src = fixtureUrl("holder.html");
  parent.document.body.append(element);
  await ready(element.contentWindow);
  return element;
}

/** A port between two frames; one of them is in a frame of its own, which the page can remove. */
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
      open: () => workersPort("port-worker.js"),
      kill: ({ worker }) => worker.postMessage({ type: "close" }),
      close,
    }),
  "the worker that holds the other port is terminated by its owner": () =>
    measure({
      open: () => workersPort("nest.js"),
      kill: ({ worker }) => worker.postMessage({ type: "terminate" }),
      close,
    }),
  "the owner of the worker that holds the other port is terminated": () =>
    measure({ open: () => workersPort("nest.js"), kill: ({ worker }) => worker.terminate() }),
  "the parent of the iframe that holds the other port is removed": () =>
    measure({ open: siblings, kill: ({ outer }) => outer.remove(), close: ({ sibling }) => sibling.remove() }),
  "this peer is destroyed": () =>
    measure({
      open: () => frame("own origin"),
      kill: ({ peer }) => peer.destroy(),
      close: ({ element }) => element.remove(),
    }),
};
