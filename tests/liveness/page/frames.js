// Frames that die.

import { frame, frameKinds, origins } from "./boundaries.js";
import { measure } from "./measure.js";

const close = ({ element, box }) => (box ?? element).remove();

const deaths = {
  /** By itself: no other window may reload a frame of another origin. */
  "is reloaded": ({ element }) => element.contentWindow.postMessage({ type: "reload" }, "*"),
  "is navigated to another origin": ({ element }) => {
    const elsewhere = element.src.startsWith(origins.own) ? origins.other : origins.own;
    element.src = `${elsewhere}/tests/liveness/fixtures/empty.html`;
  },
  "is removed": ({ element }) => element.remove(),
  "is moved in the document": (pair) => {
    pair.box = document.body.appendChild(document.createElement("div"));
    pair.box.append(pair.element);
  },
};

export const frames = {};
/** A document goes when the next one comes, and to fetch many at once takes its time. */
const apart = 100;
for (const kind of Object.keys(frameKinds)) {
  for (const [death, kill] of Object.entries(deaths)) {
    frames[`an iframe (${kind}) ${death}`] = () => measure({ open: () => frame(kind), kill, close, apart });
  }
}

/** All frames of another site live in one process; the driver ends it. */
frames["the process of an iframe of another site is killed"] = (driver) =>
  measure({
    open: () => frame("another origin"),
    killAll: ([{ element }]) =>
      driver("kill the process that spins", () => element.contentWindow.postMessage({ type: "spin", ms: 1_000 }, "*")),
    close,
  });
