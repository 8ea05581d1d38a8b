// Transports over the message boundaries of a browser. Listeners are added and removed, never assigned, and messages of
// others are left untouched: they share the boundary with us.

import { boundaryOf, boundaryOfName, boundaryOfWindow, transportInternals } from "./boundaries.js";
import { logError } from "./log-error.js";
import { takeBuffered } from "./early-buffer.js";
import { isMessageOrBatch } from "./envelope.js";
import { peerGoneError, portClosedError, tagOf, messageError, workerFailedError } from "./errors.js";
import { ReceiveQueue } from "./receive-queue.js";
import { WINDOW_CHECK_INTERVAL } from "./limit-values.js";
import { addListeners } from "./event-listeners.js";
import { allowsOrigin, ownOrigin, parseOrigins } from "./origin.js";
import { closePort, isClosedPort } from "./transfer-list.js";
import { setTimer } from "./timers.js";

/** The hubs of each boundary. */
const hubs = new WeakMap();

/**
 * A transport on a boundary. Transports with the same options share one hub, which listens to the boundary and ends with the
 * last of them. Their users share one sequence of ids, and each request gets one answer.
 */
function transport(options) {
  const { boundary, target, sharing } = options;
  if (!hubs.has(boundary)) hubs.set(boundary, new Set());
  const shared = hubs.get(boundary);
  // The windows of a frame, one after another, are one boundary.
  let hub = [...shared].find((hub) => hub.target === target && hub.sharing === sharing);
  if (hub === undefined) shared.add((hub = { ...options, ...listenTo(options), users: 0 }));
  hub.users++;
  const user = {
    send: hub.send,
    onMessage: (handler) => transportInternals.has(user) && hub.onMessage(handler, undefined, user),
    onClose: hub.onClose,
    onError: hub.onError,
    destroy() {
      if (!transportInternals.delete(user)) return;
      hub.detach(user);
      if (--hub.users > 0) return;
      shared.delete(hub);
      // A link on it answers no requests any more.
      hub.receivesFrom = () => false;
      hub.destroy();
    },
  };
  transportInternals.set(user, hub);
  return user;
}

/**
 * Hears `source`.
 *
 * A source that keeps messages by itself until it is started is heard once there is a handler; any other at once.
 * `early` is who sends to it, if `portway/early` may have kept messages of theirs. `signs` are the events by which the
 * source reports the end of the peer. Without such events, `isGone` is called. `isDead` is called once, at the start.
 * `lastOrigin` is noted with each message that is kept.
 */
function listenTo({
  source,
  send,
  accepts = () => true,
  buffersUntilStarted,
  early,
  closeEvents = [],
  isGone,
  isDead,
  destroy,
  lastOrigin,
}) {
  const queue = new ReceiveQueue(lastOrigin);
  // The sender is checked first: reading the data of an event makes the engine copy it.
  const isForUs = (event) => accepts(event) && isMessageOrBatch(event.data);
  let report = logError;
  let reportClosed = () => {};
  let isWaiting = () => false;
  let hasReceived = false;
  let polling;
  const poll = () => {
    if (isGone()) reportClosed(peerGoneError());
    else if (isWaiting()) return;
    polling = clearInterval(polling);
  };
  const sendAndPoll = (message, transfer) => {
    // While there is a timer, that looks: engines take their time to say whether a window is closed. But what is transferred
    // to one that is gone is gone, too.
    if ((polling === undefined || transfer !== undefined) && isGone()) throw peerGoneError();
    polling ??= setTimer(poll, WINDOW_CHECK_INTERVAL, "setInterval");
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
    // What runs may throw, too, and go on. What throws before it has said a word has not started.
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
    if (stop !== undefined || destroyed) return;
    stop = addListeners(source, wanted);
    source.start?.();
  };
  if (!buffersUntilStarted) start();
  if (early !== undefined) takeBuffered(early, isForUs).forEach(listeners.message);
  return {
    send: isGone === undefined ? send : sendAndPoll,
    /** WIPC transports use `isServing`. It is unused here. */
    onMessage(handler, isServing, user) {
      queue.setHandler(handler, user);
      start();
    },
    detach(user) {
      queue.removeHandler(user);
    },
    onClose(handler, isAnyWaiting) {
      reportClosed = handler;
      if (isDead?.()) Promise.resolve().then(() => reportClosed(portClosedError()));
      isWaiting = isAnyWaiting ?? isWaiting;
    },
    onError(handler) {
      report = handler;
    },
    destroy() {
      if (destroyed) return;
      destroyed = true;
      if (polling !== undefined) clearInterval(polling);
      stop?.();
      destroy?.();
    },
  };
}

export function requireMethods(object, name, ...methods) {
  if (tagOf(object) === "[object ServiceWorker]") {
    throw new TypeError(
      "a service worker sends nothing to this object: post a port of a MessageChannel to it, and use the other port",
    );
  }
  for (const method of methods) {
    if (typeof object?.[method] !== "function") throw new TypeError(`${name} is missing, or has no ${method}()`);
  }
}

/** A port keeps its messages until it is started. */
export function portTransport(port) {
  requireMethods(port, "the port", "postMessage", "addEventListener");
  return transport({
    boundary: boundaryOf(port),
    source: port,
    buffersUntilStarted: true,
    // Not every engine has it.
    closeEvents: ["close"],
    isDead: () => isClosedPort(port),
    send(message, transfer) {
      // Engines find that out when the rest of the list is gone.
      if (transfer?.includes(port))
        throw new DOMException("a port cannot be transferred through itself", "DataCloneError");
      port.postMessage(message, transfer);
    },
    destroy: () => closePort(port),
  });
}

/** A worker, as its owner sees it. Its termination is left to the owner. */
export function workerTransport(worker) {
  requireMethods(worker, "the worker", "postMessage", "addEventListener");
  return transport({
    boundary: boundaryOf(worker),
    source: worker,
    closeEvents: ["close", "error"],
    send: (message, transfer) => worker.postMessage(message, transfer),
  });
}

/** The owner of this dedicated worker. */
export function selfTransport() {
  if (typeof DedicatedWorkerGlobalScope === "undefined" || !(globalThis instanceof DedicatedWorkerGlobalScope)) {
    throw new TypeError(
      "selfTransport() is for dedicated workers; in a frame use windowTransport(parent, { origin }), elsewhere portTransport(port)",
    );
  }
  const send = (message, transfer) => globalThis.postMessage(message, transfer);
  return transport({ boundary: boundaryOf(globalThis), source: globalThis, early: globalThis, send });
}

/** Everybody of this origin on one channel. */
export function broadcastTransport(nameOrChannel) {
  const own = typeof nameOrChannel === "string";
  const channel = own ? new BroadcastChannel(nameOrChannel) : nameOrChannel;
  requireMethods(channel, "the channel", "postMessage", "addEventListener");
  return transport({
    boundary: boundaryOfName(channel.name),
    sharing: channel,
    source: channel,
    send(message, transfer) {
      if (transfer?.length > 0) throw new TypeError("a BroadcastChannel cannot transfer anything");
      channel.postMessage(message);
    },
    destroy: own ? () => channel.close() : undefined,
  });
}

/** Another window. Hears nobody but that window, and only from the allowed origins; forged events are dropped. */
export function windowTransport(target, sourceOrOptions, positionalOrigin) {
  requireMethods(target, "the target window (of an iframe, its contentWindow)", "postMessage");
  const isPositional = sourceOrOptions === undefined || typeof sourceOrOptions.addEventListener === "function";
  const options = isPositional ? { source: sourceOrOptions, origin: positionalOrigin } : sourceOrOptions;
  const source = options.source ?? globalThis.window;
  requireMethods(source, "the window to listen on", "addEventListener");
  const allowed = parseOrigins(options.origin, () => ownOrigin(source));
  // The origins to post to. The window may have any of several origins until its first message. A window without an origin
  // cannot be named, so messages for it are posted to "*": the caller has allowed that.
  const isAny = allowed.includes("*") || allowed.includes("null");
  let postOrigins = isAny ? ["*"] : allowed;
  let latestOrigin;
  /** The origin of the message that was heard last, or is handed over. */
  const lastOrigin = (origin = latestOrigin) => {
    if (allowed.length > 1 && origin) postOrigins = [origin === "null" ? "*" : origin];
    return (latestOrigin = origin);
  };
  return transport({
    boundary: boundaryOfWindow(source, target),
    target,
    sharing: allowed.join(" "),
    receivesFrom: (origin) => allowsOrigin(allowed, origin),
    lastOrigin,
    source,
    isGone: () => target.closed,
    early: source === globalThis ? target : undefined,
    accepts(event) {
      if (event.source !== target || event.isTrusted === false || !allowsOrigin(allowed, event.origin)) return false;
      lastOrigin(event.origin);
      return true;
    },
    send(message, transfer) {
      if (postOrigins.length > 1 && transfer?.length > 0) {
        throw new TypeError(
          "with several origins, nothing can be transferred to a window before it has sent a message",
        );
      }
      for (const origin of postOrigins) target.postMessage(message, origin, transfer);
    },
  });
}
