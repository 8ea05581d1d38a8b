// Adapters for Node's `Worker` and for processes with an IPC channel. They have `on` and `off`, and emit messages
// without an event.

import { checkValue } from "../driver/json-values.js";
import { connect as connectEvents, workerTransport as eventTransport } from "portway-glue";
import { adjustMaxListeners } from "./event-listeners.js";

export function workerTransport(worker) {
  return eventTransport(isEmitter(worker) ? toEventTarget(worker) : worker);
}

export async function connect(target, options) {
  if (target === globalThis.process && target.send === undefined) {
    throw new TypeError("this process has no IPC channel: start it with fork()");
  }
  return connectEvents(isEmitter(target) ? toEventTarget(target) : target, options);
}

/**
 * Returns whether a target is a `Worker`, a `ChildProcess`, or `process` in a child. Node's ports also have
 * `addEventListener`.
 */
function isEmitter(target) {
  return (
    typeof target?.on === "function" &&
    typeof target.addEventListener !== "function" &&
    (isWorker(target) || isProcess(target))
  );
}

function isWorker(target) {
  return typeof target.postMessage === "function" && typeof target.threadId === "number";
}

/** Returns whether a target is a process with an IPC channel. Without one, a process has no `send`. */
function isProcess(target) {
  return typeof target.send === "function" && "connected" in target;
}

/** Each emitter has one adapter, so that all transports on it share one boundary. */
const adapters = new WeakMap();

// Without a listener for `error`, the error of a thread would end the whole program.
const WORKER_EVENTS = { message: "message", messageerror: "messageerror", error: "error", close: "exit" };
const PROCESS_EVENTS = { message: "message", error: "error", close: "disconnect" };

function toEventTarget(emitter) {
  if (!adapters.has(emitter))
    adapters.set(
      emitter,
      isProcess(emitter)
        ? createEventTarget(emitter, PROCESS_EVENTS, send)
        : createEventTarget(emitter, WORKER_EVENTS, post),
    );
  return adapters.get(emitter);
}

function post(worker, message, transfer) {
  worker.postMessage(message, transfer);
}

/**
 * Sends a message to a process. `disconnect` reports a closed channel; without the callback, Node would emit an error
 * for it.
 */
function send(process, message, transfer) {
  if (transfer?.length > 0) throw new TypeError("objects cannot be transferred to a process");
  // A session wraps its messages in a message of its own.
  for (const part of [message?.message ?? message].flat()) checkValue(Object(part));
  if (process.connected) process.send(message, () => {});
}

function createEventTarget(emitter, events, send) {
  const wrappers = new Map();
  // The error is passed on with the exit event, which ends a thread that has started.
  let error;
  return {
    postMessage: (message, transfer) => send(emitter, message, transfer),
    addEventListener(type, listener) {
      if (!Object.hasOwn(events, type)) return;
      wrappers.set(listener, (data) => {
        if (type === "error") error = data;
        listener({ data, error });
      });
      adjustMaxListeners(emitter, 1);
      emitter.on(events[type], wrappers.get(listener));
      // A process that is disconnected already, or a thread that has ended, emits no further event.
      if (type === "close" && (emitter.connected === false || emitter.threadId === -1)) {
        error ??= new Error("it has ended already");
        Promise.resolve().then(wrappers.get(listener));
      }
    },
    removeEventListener(type, listener) {
      if (Object.hasOwn(events, type)) emitter.off(events[type], wrappers.get(listener));
      if (wrappers.delete(listener)) adjustMaxListeners(emitter, -1);
    },
  };
}
