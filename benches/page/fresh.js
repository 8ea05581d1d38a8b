// Measures the time to instantiate a compiled module in a new iframe.

import { initSync } from "portway";

globalThis.bench = {
  run() {
    // The clone is a module of this realm, like a module that an application receives by `postMessage`.
    const module = structuredClone(parent.compiled);
    const start = performance.now();
    initSync(module);
    return { ms: performance.now() - start };
  },
};
frameElement.dispatchEvent(new Event("started"));
