// Transports over the message boundaries of a browser. Listeners are added and removed, never assigned, and messages of
// others are left untouched: they share the boundary with us.

import { boundaryOf, boundaryOfName, boundaryOfWindow, insides } from "./boundaries.js";
import { complain } from "./log-error.js";
import { takeEarly } from "./early-buffer.js";
import { isOurs } from "./envelope.js";
import { gone, portClosed, tagOf, unreadable, unstarted } from "./errors.js";
import { Inbox } from "./receive-queue.js";
import { WINDOW_CHECK_INTERVAL } from "./limit-values.js";
import { listen } from "./event-listeners.js";
import { allowsOrigin, ownOrigin, targetOrigins } from "./origin.js";
import { close, isClosed } from "./messages.js";
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
  if (hub === undefined) shared.add((hub = { ...options, ...hear(options), users: 0 }));
  hub.users++;
  const user = {
    send: hub.send,
    onMessage: (handler) => insides.has(user) && hub.onMessage(handler, undefined, user),
    onClose: hub.onClose,
    onError: hub.onError,
    destroy() {
      if (!insides.delete(user)) return;
      hub.detach(user);
      if (--hub.users > 0) return;
      shared.delete(hub);
      // A link on it answers no requests any more.
      hub.hears = () => false;
      hub.destroy();
    },
  };
  insides.set(user, hub);
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
function hear({ source, send, accepts = () => true, keeps, early, signs = [], isGone, isDead, destroy, lastOrigin }) {
  const inbox = new Inbox(lastOrigin);
  // The sender is checked first: reading the data of an event makes the engine copy it.
  const isMine = (event) => accepts(event) && isOurs(event.data);
  let report = complain;
  let lose = () => {};
  let isWaiting = () => false;
  let hasHeard = false;
  let looking;
  const look = () => {
    if (isGone()) lose(gone());
    else if (isWaiting()) return;
    looking = clearInterval(looking);
  };
  const sendAndLook = (message, transfer) => {
    // While there is a timer, that looks: engines take their time to say whether a window is closed. But what is transferred
    // to one that is gone is gone, too.
    if ((looking === undefined || transfer !== undefined) && isGone()) throw gone();
    looking ??= setTimer(look, WINDOW_CHECK_INTERVAL, "setInterval");
    send(message, transfer);
  };
  const listeners = {
    message(event) {
      if (!isMine(event)) return;
      hasHeard = true;
      inbox.receive(event.data);
    },
    messageerror(event) {
      if (!accepts(event)) return;
      const error = unreadable();
      report(error);
      report(error, null);
    },
    close: ({ error }) => lose(gone(undefined, error)),
    // What runs may throw, too, and go on. What throws before it has said a word has not started.
    error(event) {
      if (!hasHeard) lose(unstarted("peer-gone", event.error ?? event));
    },
  };
  const wanted = Object.fromEntries(["message", "messageerror", ...signs].map((event) => [event, listeners[event]]));
  let stop;
  let destroyed = false;
  const start = () => {
    if (stop !== undefined || destroyed) return;
    stop = listen(source, wanted);
    source.start?.();
  };
  if (!keeps) start();
  if (early !== undefined) takeEarly(early, isMine).forEach(listeners.message);
  return {
    send: isGone === undefined ? send : sendAndLook,
    /** WIPC transports use `isServing`. It is unused here. */
    onMessage(handler, isServing, user) {
      inbox.attach(handler, user);
      start();
    },
    detach(user) {
      inbox.detach(user);
    },
    onClose(handler, isAnyWaiting) {
      lose = handler;
      if (isDead?.()) Promise.resolve().then(() => lose(portClosed()));
      isWaiting = isAnyWaiting ?? isWaiting;
    },
    onError(handler) {
      report = handler;
    },
    destroy() {
      if (destroyed) return;
      destroyed = true;
      if (looking !== undefined) clearInterval(looking);
      stop?.();
      destroy?.();
    },
  };
}

export function need(object, name, ...methods) {
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
  need(port, "the port", "postMessage", "addEventListener");
  return transport({
    boundary: boundaryOf(port),
    source: port,
    keeps: true,
    // Not every engine has it.
    signs: ["close"],
    isDead: () => isClosed(port),
    send(message, transfer) {
      // Engines find that out when the rest of the list is gone.
      if (transfer?.includes(port))
        throw new DOMException("a port cannot be transferred through itself", "DataCloneError");
      port.postMessage(message, transfer);
    },
    destroy: () => close(port),
  });
}

/** A worker, as its owner sees it. Its termination is left to the owner. */
export function workerTransport(worker) {
  need(worker, "the worker", "postMessage", "addEventListener");
  return transport({
    boundary: boundaryOf(worker),
    source: worker,
    signs: ["close", "error"],
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
  need(channel, "the channel", "postMessage", "addEventListener");
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
export function windowTransport(target, sourceOrOptions, originInRow) {
  need(target, "the target window (of an iframe, its contentWindow)", "postMessage");
  const inRow = sourceOrOptions === undefined || typeof sourceOrOptions.addEventListener === "function";
  const options = inRow ? { source: sourceOrOptions, origin: originInRow } : sourceOrOptions;
  const source = options.source ?? globalThis.window;
  need(source, "the window to listen on", "addEventListener");
  const allowed = targetOrigins(options.origin, () => ownOrigin(source));
  // The origins to post to. The window may have any of several origins until its first message. A window without an origin
  // cannot be named, so messages for it are posted to "*": the caller has allowed that.
  const isAny = allowed.includes("*") || allowed.includes("null");
  let known = isAny ? ["*"] : allowed;
  let last;
  /** The origin of the message that was heard last, or is handed over. */
  const lastOrigin = (origin = last) => {
    if (allowed.length > 1 && origin) known = [origin === "null" ? "*" : origin];
    return (last = origin);
  };
  return transport({
    boundary: boundaryOfWindow(source, target),
    target,
    sharing: allowed.join(" "),
    hears: (origin) => allowsOrigin(allowed, origin),
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
      if (known.length > 1 && transfer?.length > 0) {
        throw new TypeError(
          "with several origins, nothing can be transferred to a window before it has sent a message",
        );
      }
      for (const origin of known) target.postMessage(message, origin, transfer);
    },
  });
}
