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

/** Each worker has one wrapper, so that all transports on it are on one boundary. */
const wrapped = new WeakMap();

// What a thread dies of has to be listened to, since as long as nobody does, it ends the whole program.
const EVENTS = { message: "message", messageerror: "messageerror", error: "error", close: "exit" };

function asEventTarget(worker) {
  if (!wrapped.has(worker)) wrapped.set(worker, wrapperOf(worker));
  return wrapped.get(worker);
}

function wrapperOf(worker) {
  const wrappers = new Map();
  // Told again with the exit, which is what ends a thread that has begun.
  let error;
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer),
    addEventListener(type, listener) {
      if (!Object.hasOwn(EVENTS, type)) return;
      wrappers.set(listener, (data) => {
        if (type === "error") error = data;
        listener({ data, error });
      });
      worker.on(EVENTS[type], wrappers.get(listener));
    },
    removeEventListener(type, listener) {
      if (Object.hasOwn(EVENTS, type)) worker.off(EVENTS[type], wrappers.get(listener));
      wrappers.delete(listener);
    },
  };
}
