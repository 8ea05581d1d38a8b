// The transports of a browser. Other code may use the same boundary: a port, worker, window or channel. So listeners
// are added and removed, never assigned, and messages of other code are ignored.

import { boundaryOf, boundaryOfName, boundaryOfWindow, transportInternals } from "../driver/boundaries.js";
import { logError } from "../driver/log-error.js";
import { takeBuffered } from "./early-buffer.js";
import { isMessageOrBatch } from "../driver/envelope.js";
import {
  define,
  isInstance,
  peerGoneError,
  portClosedError,
  tagOf,
  messageError,
  workerFailedError,
} from "../driver/errors.js";
import { ReceiveQueue } from "./receive-queue.js";
import { addListeners } from "./event-listeners.js";
import { Heartbeat } from "./heartbeat.js";
import { allowsEvent, allowsOrigin, ownOrigin, parseOrigins, postOrigins } from "./origin.js";
import { closePort, isClosedPort } from "../driver/transfer-list.js";

/**
 * The options of a hub, the object that listens to a boundary for one or several transports. `listenTo` describes the
 * options that have no description here.
 * @typedef {object} HubOptions
 * @property {object} boundary
 * @property {any} [target] The window of the peer.
 * @property {unknown} [sharing] A value that the transports on one hub have in common.
 * @property {(origin: string) => boolean} [receivesFrom] Returns whether messages of an origin are received.
 * @property {any} source
 * @property {(message: any, transfer?: any) => void} send
 * @property {(event: MessageEvent) => boolean} [accepts] Returns whether an event is a message of the peer.
 * @property {boolean} [buffersUntilStarted]
 * @property {object} [early]
 * @property {string[]} [closeEvents]
 * @property {any} [isTargetClosed] A function that returns whether the window of the peer is closed.
 * @property {() => boolean} [isClosed]
 * @property {() => void} [destroy]
 * @property {(origin?: string) => string | undefined} [lastOrigin]
 */

/** The member of a boundary that contains its hubs. Another copy of the library has another symbol, and other hubs. */
const HUBS = Symbol();

/**
 * Returns a transport on a boundary. Transports with the same `target` and the same `sharing` share one hub, which
 * listens to the boundary. The hub ends when its last transport is destroyed. All users of a hub share one sequence of
 * ids, and each request is answered once.
 * @param {HubOptions} options
 */
function transport(options) {
  const { boundary, target, sharing } = options;
  const shared = (boundary[HUBS] ??= new Set());
  // An iframe may have several windows, one after another, and all of them have the same boundary. So the target is
  // also compared.
  let hub = [...shared].find((hub) => hub.target === target && hub.sharing === sharing);
  if (!hub) shared.add((hub = { ...options, ...listenTo(options), users: 0 }));
  hub.users++;
  const user = {
    send: hub.send,
    onMessage: (handler) => transportInternals.has(user) && hub.onMessage(handler, undefined, user),
    onClose: hub.onClose,
    onError: hub.onError,
    destroy() {
      if (!transportInternals.delete(user)) return;
      hub.queue.removeHandler(user);
      if (--hub.users > 0) return;
      shared.delete(hub);
      // A link on the hub must not answer requests any more.
      hub.receivesFrom = () => false;
      hub.destroy();
    },
  };
  transportInternals.set(user, hub);
  // `portway/tap` is another bundle, and finds the hub by this member. A copy of the transport does not have this
  // member.
  define(user, "hub", hub);
  return user;
}

/**
 * Returns the members of a hub that listens to `source`. If `buffersUntilStarted` is true, the hub begins to listen
 * when it has a handler. Any other hub listens at once. `early` is the sender, if `portway/early` may have buffered its
 * messages. `closeEvents` are the events for the loss of the peer. Where no event reports the loss, `isTargetClosed` is
 * polled. `isClosed` returns whether the source is already closed when `onClose` is called. `destroy` runs when the hub
 * ends. `lastOrigin` is the `metadata` of the receive queue.
 * @param {HubOptions} options
 */
function listenTo({
  source,
  send,
  accepts = () => true,
  buffersUntilStarted,
  early,
  closeEvents = [],
  isTargetClosed,
  isClosed,
  destroy,
  lastOrigin,
}) {
  const queue = new ReceiveQueue(lastOrigin);
  // The sender is checked first, since engines copy the data of an event when it is read.
  const isForUs = (event) => accepts(event) && isMessageOrBatch(event.data);
  /** @type {(error: unknown, ids?: null) => void} */
  let report = logError;
  /** @type {(error: import("../driver/errors.js").CallError) => void} */
  let reportClosed = () => {};
  /** @type {() => boolean} */
  let isWaiting = () => false;
  let hasReceived = false;
  const poller = new Heartbeat(Infinity, true, () => {
    if (isTargetClosed()) reportClosed(peerGoneError());
    return isWaiting();
  });
  const sendAndPoll = (message, transfer) => {
    // Reading `closed` of a window takes long, so usually only the timer reads it. Before a transfer, `closed` is read
    // here, because objects that are transferred to a closed window are lost.
    if ((poller.isIdle || transfer) && isTargetClosed()) throw peerGoneError();
    if (poller.isIdle) poller.start();
    send(message, transfer);
  };
  const listeners = {
    message(event) {
      if (!isForUs(event)) return;
      hasReceived = true;
      queue.receive(event.data);
    },
    messageerror(event) {
      if (!accepts(event)) return;
      const error = messageError();
      report(error);
      report(error, null);
    },
    close: ({ error }) => reportClosed(peerGoneError(undefined, error)),
    // A running worker may throw and continue. A worker that throws before its first message has not started.
    error(event) {
      if (!hasReceived) reportClosed(workerFailedError("peer-gone", event.error ?? event));
    },
  };
  const wanted = Object.fromEntries(
    ["message", "messageerror", ...closeEvents].map((event) => [event, listeners[event]]),
  );
  let stop;
  let destroyed = false;
  const start = () => {
    if (stop || destroyed) return;
    stop = addListeners(source, wanted);
    source.start?.();
  };
  if (!buffersUntilStarted) start();
  if (early) takeBuffered(early, isForUs).forEach(listeners.message);
  return {
    /** `portway/tap` also reads this member. */
    queue,
    send: isTargetClosed ? sendAndPoll : send,
    /** Only WIPC transports use the second parameter. */
    onMessage(handler, isServing, user) {
      queue.setHandler(handler, user);
      start();
    },
    onClose(handler, isAnyWaiting) {
      reportClosed = handler;
      if (isClosed?.()) Promise.resolve().then(() => reportClosed(portClosedError()));
      isWaiting = isAnyWaiting ?? isWaiting;
    },
    onError(handler) {
      report = handler;
    },
    destroy() {
      if (destroyed) return;
      destroyed = true;
      poller.stop();
      stop?.();
      destroy?.();
    },
  };
}

export function requireMethods(object, name, ...methods) {
  if (tagOf(object) === "[object ServiceWorker]") {
    throw new TypeError(
      "a service worker posts no messages to this object; post a port of a MessageChannel to it and use the other port",
    );
  }
  for (const method of methods) {
    if (typeof object?.[method] !== "function") throw new TypeError(`${name} must have ${method}()`);
  }
}

/**
 * Throws a TypeError for a target that is known to be neither a worker nor a port. The error names the right way to use
 * the target. Several contexts share the ids on a BroadcastChannel, so only `broadcastTransport` uses such a channel.
 */
export function refuseOtherTarget(target) {
  for (const [name, way] of [
    ["SharedWorker", "sharedWorker.port"],
    ["BroadcastChannel", "broadcastTransport(channel)"],
  ]) {
    if (isInstance(target, name)) throw new TypeError(`${name}: use ${way}`);
  }
}

function requireChannel(target, name) {
  // `window` is read first. If a window has another origin, reading most of its other members throws.
  if (target && target.window === target) throw new TypeError("window: use windowTransport(window, { origin })");
  refuseOtherTarget(target);
  requireMethods(target, name, "postMessage", "addEventListener");
}

/** Returns a transport over a port. A port buffers its messages until it is started. */
export function portTransport(port) {
  requireChannel(port, "port");
  return transport({
    boundary: boundaryOf(port),
    source: port,
    buffersUntilStarted: true,
    // Not every engine dispatches this event.
    closeEvents: ["close"],
    isClosed: () => isClosedPort(port),
    send(message, transfer) {
      // Engines also check this, but only after they have detached the other objects.
      if (transfer?.includes(port))
        throw new DOMException("a port cannot be transferred through itself", "DataCloneError");
      port.postMessage(message, transfer);
    },
    destroy: () => closePort(port),
  });
}

/** Returns a transport from the owner of a worker to the worker. `destroy` does not terminate the worker. */
export function workerTransport(worker) {
  requireChannel(worker, "worker");
  return transport({
    boundary: boundaryOf(worker),
    source: worker,
    closeEvents: ["close", "error"],
    send: (message, transfer) => worker.postMessage(message, transfer),
  });
}

/** Returns a transport to the owner of this dedicated worker. */
export function selfTransport() {
  if (typeof DedicatedWorkerGlobalScope === "undefined" || !(globalThis instanceof DedicatedWorkerGlobalScope)) {
    throw new TypeError(
      "selfTransport() is for dedicated workers; use windowTransport(parent, { origin }) in an iframe, else portTransport(port)",
    );
  }
  const send = (message, transfer) => globalThis.postMessage(message, transfer);
  return transport({ boundary: boundaryOf(globalThis), source: globalThis, early: globalThis, send });
}

/** Returns a transport over a channel, to all contexts of this origin that use this channel. */
export function broadcastTransport(nameOrChannel) {
  const isOwnChannel = typeof nameOrChannel === "string";
  const channel = isOwnChannel ? new BroadcastChannel(nameOrChannel) : nameOrChannel;
  requireMethods(channel, "channel", "postMessage", "addEventListener");
  if (typeof channel.name !== "string") {
    throw new TypeError("channel must be a BroadcastChannel or its name; for a port, use portTransport(port)");
  }
  return transport({
    boundary: boundaryOfName(channel.name),
    sharing: channel,
    source: channel,
    send(message, transfer) {
      if (transfer?.length > 0) throw new TypeError("a BroadcastChannel cannot transfer objects");
      channel.postMessage(message);
    },
    destroy: isOwnChannel ? () => channel.close() : undefined,
  });
}

/** Returns a transport to a window. Messages of other windows or origins, and synthetic events, are ignored. */
export function windowTransport(target, sourceOrOptions, positionalOrigin) {
  requireMethods(target, "target window (the contentWindow of an iframe)", "postMessage");
  const isPositional = sourceOrOptions === undefined || typeof sourceOrOptions.addEventListener === "function";
  const options = isPositional ? { source: sourceOrOptions, origin: positionalOrigin } : sourceOrOptions;
  const source = options.source ?? globalThis.window;
  requireMethods(source, "source window", "addEventListener");
  const allowed = parseOrigins(options.origin, () => ownOrigin(source));
  // The origins to post to. The window may have any allowed origin until its first message.
  let targetOrigins = postOrigins(allowed);
  let latestOrigin;
  /** Returns the origin of the message that is handled now. With an argument, sets this origin first. */
  const lastOrigin = (origin = latestOrigin) => {
    if (allowed.length > 1 && origin) targetOrigins = postOrigins([origin]);
    return (latestOrigin = origin);
  };
  return transport({
    boundary: boundaryOfWindow(source, target),
    target,
    sharing: allowed.join(" "),
    receivesFrom: (origin) => allowsOrigin(allowed, origin),
    lastOrigin,
    source,
    isTargetClosed: () => target.closed,
    early: source === globalThis ? target : undefined,
    accepts(event) {
      if (!allowsEvent(event, target, allowed)) return false;
      lastOrigin(event.origin);
      return true;
    },
    send(message, transfer) {
      if (targetOrigins.length > 1 && transfer?.length > 0) {
        throw new TypeError(
          "with several origins, objects can only be transferred to a window after its first message",
        );
      }
      for (const origin of targetOrigins) target.postMessage(message, origin, transfer);
    },
  });
}
