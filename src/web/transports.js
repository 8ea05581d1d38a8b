// Transports over the message boundaries of a browser. Listeners are added and removed, never assigned, and messages of
// others are left untouched: they share the boundary with us.

import { takeEarly } from "./early-messages.js";
import { isOurs } from "./envelope.js";
import { Inbox } from "./inbox.js";
import { allowsOrigin, ownOrigin, targetOrigins } from "./origin.js";

/**
 * A transport that hears `source`, an event target or what Node has in its place.
 *
 * @param listen When to listen: "now", or "attached" for a source that keeps messages by itself until it is started.
 */
function transport({ source, send, accepts, listen = "now", destroy }) {
  const inbox = new Inbox();
  const onEvent = (event) => {
    if (isOurs(event.data) && (accepts === undefined || accepts(event))) inbox.receive(event.data);
  };
  let listening = false;
  const start = () => {
    if (listening) return;
    listening = true;
    source.addEventListener("message", onEvent);
    source.start?.();
  };
  if (listen === "now") start();
  let destroyed = false;
  return {
    inbox,
    send,
    onMessage(handler) {
      inbox.attach(handler);
      if (!destroyed) start();
    },
    destroy() {
      if (destroyed) return;
      destroyed = true;
      source.removeEventListener("message", onEvent);
      destroy?.();
    },
  };
}

/** Only what a user of the transport sees of it. */
function facade({ send, onMessage, destroy }) {
  return { send, onMessage, destroy };
}

function need(object, name, ...methods) {
  for (const method of methods) {
    if (typeof object?.[method] !== "function") throw new TypeError(`${name} is missing, or has no ${method}()`);
  }
}

/** A port keeps its messages until it is started, so it is started once there is a handler. */
export function portTransport(port) {
  need(port, "the port", "postMessage", "addEventListener");
  return facade(
    transport({
      source: port,
      listen: "attached",
      send: (message, transfer) => port.postMessage(message, transfer),
      destroy: () => port.close(),
    }),
  );
}

/** A worker, as its owner sees it. Its termination is left to the owner. */
export function workerTransport(worker) {
  need(worker, "the worker", "postMessage", "addEventListener");
  return facade(transport({ source: worker, send: (message, transfer) => worker.postMessage(message, transfer) }));
}

/** The owner of this dedicated worker. */
export function selfTransport() {
  if (typeof DedicatedWorkerGlobalScope === "undefined" || !(globalThis instanceof DedicatedWorkerGlobalScope)) {
    throw new TypeError(
      "selfTransport() is for dedicated workers; in a frame use windowTransport(parent, { origin }), elsewhere portTransport(port)",
    );
  }
  const self = transport({ source: globalThis, send: (message, transfer) => globalThis.postMessage(message, transfer) });
  for (const event of takeEarly(({ data }) => isOurs(data))) self.inbox.receive(event.data);
  return facade(self);
}

/** Everybody of this origin on one channel. */
export function broadcastTransport(nameOrChannel) {
  const own = typeof nameOrChannel === "string";
  const channel = own ? new BroadcastChannel(nameOrChannel) : nameOrChannel;
  need(channel, "the channel", "postMessage", "addEventListener");
  return facade(
    transport({
      source: channel,
      send(message, transfer) {
        if (transfer?.length > 0) throw new TypeError("a BroadcastChannel cannot transfer anything");
        channel.postMessage(message);
      },
      destroy: own ? () => channel.close() : undefined,
    }),
  );
}

/**
 * Another window. Hears nobody but that window, and only from the allowed origins; forged events are dropped.
 */
export function windowTransport(target, sourceOrOptions, originInRow) {
  need(target, "the target window", "postMessage");
  const inRow = sourceOrOptions === undefined || typeof sourceOrOptions.addEventListener === "function";
  const options = inRow ? { source: sourceOrOptions, origin: originInRow } : sourceOrOptions;
  const source = options.source ?? globalThis.window;
  need(source, "the window to listen on", "addEventListener");
  const allowed = targetOrigins(options.origin, () => ownOrigin(source));
  // Of several origins, the one that the window turned out to have.
  let known;
  const accepts = (event) => {
    if (event.source !== target || event.isTrusted === false || !allowsOrigin(allowed, event.origin)) return false;
    known = event.origin;
    return true;
  };
  const self = transport({
    source,
    accepts,
    send(message, transfer) {
      const origin = allowed.length > 1 && known !== undefined ? known : allowed[0];
      // A window without an origin cannot be named; the choice of it was the caller's.
      target.postMessage(message, origin === "null" ? "*" : origin, transfer);
    },
  });
  if (source === globalThis) {
    for (const event of takeEarly((event) => isOurs(event.data) && accepts(event))) self.inbox.receive(event.data);
  }
  return facade(self);
}
