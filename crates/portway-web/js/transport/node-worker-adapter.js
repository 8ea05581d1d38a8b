// Adapters for Node's `Worker` and for processes with an IPC channel. These emitters have `on` and `off` instead of
// `addEventListener`. Their listeners receive the message itself and not an event.

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
 * Returns whether a target needs an adapter: a `Worker`, a `ChildProcess`, or `process` in a child. Node's ports need
 * no adapter, because they also have `addEventListener`.
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

/** Returns whether a target is a process with an IPC channel. Without a channel, a process has no `send`. */
function isProcess(target) {
  return typeof target.send === "function" && "connected" in target;
}

/** The adapter of each emitter. All transports on an emitter share one adapter, and so one boundary. */
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
 * Sends a message to a process. The event `disconnect` reports a closed channel. Without the empty callback, Node would
 * also emit an error.
 */
function send(process, message, transfer) {
  if (transfer?.length > 0) throw new TypeError("objects cannot be transferred to a process");
  // A session wraps each message in an object with the members `portway` and `message`.
  for (const part of [message?.message ?? message].flat()) checkValue(Object(part));
  if (process.connected) process.send(message, () => {});
}

function createEventTarget(emitter, events, send) {
  const wrappers = new Map();
  // The listeners of the exit event receive the error that has ended the thread.
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
      // A disconnected process and an ended thread emit no further event, so the listener is called here.
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
