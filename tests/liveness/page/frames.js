// Tests iframes whose documents end.

import { frame, iframeKinds, origins } from "./boundaries.js";
import { measure } from "./measure.js";

const close = ({ element, newParent }) => (newParent ?? element).remove();

const deaths = {
  /** The iframe reloads itself, because no other window may reload an iframe of another origin. */
  "is reloaded": ({ element }) => element.contentWindow.postMessage({ type: "reload" }, "*"),
  "is navigated to another origin": ({ element }, ended) => {
    // The old document has ended when the new document has loaded, at the latest.
    element.addEventListener("load", ended);
    const elsewhere = element.src.startsWith(origins.own) ? origins.other : origins.own;
    element.src = `${elsewhere}/tests/liveness/fixtures/empty.html`;
  },
  "is removed": ({ element }) => element.remove(),
  "is moved in the document": (pair) => {
    pair.newParent = document.body.appendChild(document.createElement("div"));
    pair.newParent.append(pair.element);
  },
};

export const frames = {};
/**
 * The milliseconds between the ends of two documents. A document ends when the next document has arrived, and many
 * requests at the same time are slow.
 */
const pauseBetween = 100;
for (const kind of Object.keys(iframeKinds)) {
  for (const [death, kill] of Object.entries(deaths)) {
    frames[`an iframe (${kind}) ${death}`] = () => measure({ open: () => frame(kind), kill, close, pauseBetween });
  }
}

/** All iframes of another site share one process, which the driver kills. */
frames["the process of an iframe of another site is killed"] = (driver) =>
  measure({
    open: () => frame("another origin"),
    killAll: ([{ element }]) =>
      driver("kill the process that spins", () => element.contentWindow.postMessage({ type: "spin", ms: 5_000 }, "*")),
    close,
  });
