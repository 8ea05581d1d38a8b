// In a fresh frame: how long an instance takes when the module is handed over.

import { initSync } from "portway";

globalThis.bench = {
  run() {
    // A module is of the realm that it was cloned into.
    const module = structuredClone(parent.compiled);
    const start = performance.now();
    initSync(module);
    return { ms: performance.now() - start };
  },
};
frameElement.dispatchEvent(new Event("started"));
