// Node's `Worker`, which has `on` and `off`, and messages without an event around them.

import { workerTransport as overEvents } from "portway-glue";

export function workerTransport(worker) {
  return overEvents(typeof worker?.on === "function" ? asEventTarget(worker) : worker);
}

function asEventTarget(worker) {
  const wrappers = new Map();
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer),
    addEventListener(type, listener) {
      wrappers.set(listener, (data) => listener({ data }));
      worker.on(type, wrappers.get(listener));
    },
    removeEventListener(type, listener) {
      worker.off(type, wrappers.get(listener));
    },
  };
}
