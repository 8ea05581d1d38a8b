// Node's `Worker`, which has `on` and `off`, and messages without an event around them.

import { connect as connectEvents, workerTransport as overEvents } from "portway-glue";

export function workerTransport(worker) {
  return overEvents(isNodeWorker(worker) ? asEventTarget(worker) : worker);
}

export function connect(target, options) {
  return connectEvents(isNodeWorker(target) ? asEventTarget(target) : target, options);
}

function isNodeWorker(target) {
  // Node's ports have both, `on` and `addEventListener`.
  return typeof target?.on === "function" && typeof target.addEventListener !== "function";
}

// Its errors are not listened to: as long as nobody does, they end the program, and that is for the program to say.
const EVENTS = { message: "message", messageerror: "messageerror", close: "exit" };

function asEventTarget(worker) {
  const wrappers = new Map();
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer),
    addEventListener(type, listener) {
      if (!Object.hasOwn(EVENTS, type)) return;
      wrappers.set(listener, (data) => listener({ data }));
      worker.on(EVENTS[type], wrappers.get(listener));
    },
    removeEventListener(type, listener) {
      if (Object.hasOwn(EVENTS, type)) worker.off(EVENTS[type], wrappers.get(listener));
    },
  };
}
