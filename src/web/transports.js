// Transports over the message boundaries of a browser. Listeners are added and removed, never assigned, and messages of
// others are left untouched: they share the boundary with us.

import { takeEarly } from "./early-messages.js";
import { isOurs } from "./envelope.js";
import { Inbox } from "./inbox.js";
import { allowsOrigin, ownOrigin, targetOrigins } from "./origin.js";

/**
 * A transport that hears `source`.
 *
 * A source that keeps messages by itself until it is started is heard once there is a handler; any other at once.
 * `early` is who sends to it, if `portway/early` may have kept messages of theirs.
 */
function transport({ source, send, accepts = () => true, keeps, early, destroy }) {
  const inbox = new Inbox();
  const isMine = (event) => isOurs(event.data) && accepts(event);
  const onEvent = (event) => {
    if (isMine(event)) inbox.receive(event.data);
  };
  let listening = false;
  let destroyed = false;
  const listen = () => {
    if (listening || destroyed) return;
    listening = true;
    source.addEventListener("message", onEvent);
    source.start?.();
  };
  if (!keeps) listen();
  if (early !== undefined) takeEarly(isMine, early).forEach(onEvent);
  return {
    send,
    onMessage(handler) {
      inbox.attach(handler);
      listen();
    },
    destroy() {
      if (destroyed) return;
      destroyed = true;
      source.removeEventListener("message", onEvent);
      destroy?.();
    },
  };
}

function need(object, name, ...methods) {
  for (const method of methods) {
    if (typeof object?.[method] !== "function") throw new TypeError(`${name} is missing, or has no ${method}()`);
  }
}

/** A port keeps its messages until it is started. */
export function portTransport(port) {
  need(port, "the port", "postMessage", "addEventListener");
  return transport({
    source: port,
    keeps: true,
    send: (message, transfer) => port.postMessage(message, transfer),
    destroy: () => port.close(),
  });
}

/** A worker, as its owner sees it. Its termination is left to the owner. */
export function workerTransport(worker) {
  need(worker, "the worker", "postMessage", "addEventListener");
  return transport({ source: worker, send: (message, transfer) => worker.postMessage(message, transfer) });
}

/** The owner of this dedicated worker. */
export function selfTransport() {
  if (typeof DedicatedWorkerGlobalScope === "undefined" || !(globalThis instanceof DedicatedWorkerGlobalScope)) {
    throw new TypeError(
      "selfTransport() is for dedicated workers; in a frame use windowTransport(parent, { origin }), elsewhere portTransport(port)",
    );
  }
  const send = (message, transfer) => globalThis.postMessage(message, transfer);
  return transport({ source: globalThis, early: globalThis, send });
}

/** Everybody of this origin on one channel. */
export function broadcastTransport(nameOrChannel) {
  const own = typeof nameOrChannel === "string";
  const channel = own ? new BroadcastChannel(nameOrChannel) : nameOrChannel;
  need(channel, "the channel", "postMessage", "addEventListener");
  return transport({
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
  need(target, "the target window", "postMessage");
  const inRow = sourceOrOptions === undefined || typeof sourceOrOptions.addEventListener === "function";
  const options = inRow ? { source: sourceOrOptions, origin: originInRow } : sourceOrOptions;
  const source = options.source ?? globalThis.window;
  need(source, "the window to listen on", "addEventListener");
  const allowed = targetOrigins(options.origin, () => ownOrigin(source));
  // Of several origins, the one that the window turned out to have.
  let known = allowed[0];
  return transport({
    source,
    early: source === globalThis ? target : undefined,
    accepts(event) {
      if (event.source !== target || event.isTrusted === false || !allowsOrigin(allowed, event.origin)) return false;
      if (allowed.length > 1) known = event.origin;
      return true;
    },
    // A window without an origin cannot be named; the choice of it was the caller's.
    send: (message, transfer) => target.postMessage(message, known === "null" ? "*" : known, transfer),
  });
}
