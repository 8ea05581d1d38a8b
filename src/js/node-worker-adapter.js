// Node's `Worker`, and processes with an IPC channel: they have `on` and `off`, and messages without an event around them.

import { checkValue } from "./json-values.js";
import { connect as connectEvents, workerTransport as overEvents } from "portway-glue";
import { adjustMaxListeners } from "../web/event-listeners.js";

export function workerTransport(worker) {
  return overEvents(isEmitter(worker) ? asEventTarget(worker) : worker);
}

export async function connect(target, options) {
  if (target === globalThis.process && target.send === undefined) {
    throw new TypeError("this process has no channel to a parent: start it with fork()");
  }
  return connectEvents(isEmitter(target) ? asEventTarget(target) : target, options);
}

/** A `Worker`, a `ChildProcess`, or `process` in a child. Node's ports have both, `on` and `addEventListener`. */
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

/** A process without an IPC channel has no `send`. */
function isProcess(target) {
  return typeof target.send === "function" && "connected" in target;
}

/** Each worker has one wrapper, so that all transports on it are on one boundary. */
const wrapped = new WeakMap();

// What a thread dies of has to be listened to, since as long as nobody does, it ends the whole program.
const WORKER_EVENTS = { message: "message", messageerror: "messageerror", error: "error", close: "exit" };
const PROCESS_EVENTS = { message: "message", error: "error", close: "disconnect" };

function asEventTarget(emitter) {
  if (!wrapped.has(emitter))
    wrapped.set(
      emitter,
      isProcess(emitter) ? wrapperOf(emitter, PROCESS_EVENTS, send) : wrapperOf(emitter, WORKER_EVENTS, post),
    );
  return wrapped.get(emitter);
}

function post(worker, message, transfer) {
  worker.postMessage(message, transfer);
}

/** Sends to a process. The event `disconnect` reports that its channel is closed. Without a callback, Node emits that as an error. */
function send(process, message, transfer) {
  if (transfer?.length > 0) throw new TypeError("nothing can be transferred to a process");
  // A session wraps its messages in another message.
  for (const one of [message?.message ?? message].flat()) checkValue(Object(one));
  if (process.connected) process.send(message, () => {});
}

function wrapperOf(emitter, events, send) {
  const wrappers = new Map();
  // Told again with the exit, which is what ends a thread that has begun.
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
