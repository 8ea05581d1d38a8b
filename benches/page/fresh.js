// Measures the time of an instantiation in a fresh iframe, with a compiled module.

import { initSync } from "portway";

globalThis.bench = {
  run() {
    // The clone belongs to this realm.
    const module = structuredClone(parent.compiled);
    const start = performance.now();
    initSync(module);
    return { ms: performance.now() - start };
  },
};
frameElement.dispatchEvent(new Event("started"));
