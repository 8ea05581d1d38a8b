// Taps the transports of the library and of applications.

import { registry } from "../driver/boundaries.js";
import { isInstance } from "../driver/errors.js";
import { isPort } from "../driver/transfer-list.js";
import { TapPoint, cancel, messageOf, replace } from "./points.js";
import { recorderOf } from "./recorder.js";
import { tapSockets } from "./websocket.js";
import { tapFrames } from "./wipc.js";

/** @type {typeof import("../../types/tap.js").tap} */
export function tap(transport, { name, sink } = {}) {
  if (typeof transport?.send !== "function" || typeof transport.onMessage !== "function")
    throw new TypeError("transport must have the functions send and onMessage, as workerTransport(worker) has");
  const recorder = recorderOf(sink);
  /** @type {any} */
  const target = transport;
  // A transport of the library has `hub` as an own property. An object that only inherits `hub` is a custom transport.
  const hub = Object.hasOwn(target, "hub") ? target.hub : undefined;
  if (hub !== undefined) {
    TapPoint.add(hub, recorder, name ?? kindOf(hub), kindOf(hub), (point) => tapHub(hub, point));
    // The messages that the application itself sends with `send` of the transport are also recorded.
    target.send = (message, transfer) => hub.send(message, transfer);
  } else if (typeof target.watch === "function")
    TapPoint.add(target, recorder, name ?? "websocket", "websocket", (point) => tapSockets(target, point));
  else if (typeof target.sendText === "function")
    TapPoint.add(target, recorder, name ?? "stdio", "stdio", (point) => tapFrames(target, point));
  else TapPoint.add(target, recorder, name ?? "custom", "custom", (point) => tapCustom(target, point));
  return transport;
}

/** Returns the kind of a transport of the library, as docs/tap.md lists it. */
function kindOf({ source, target }) {
  if (target !== undefined) return "window";
  if (isInstance(source, "BroadcastChannel")) return "broadcast-channel";
  return isPort(source) ? "port" : "worker";
}

/** Taps a hub. All transports on one boundary that have the same options send and receive over one hub. */
function tapHub(hub, point) {
  const { queue, send, onClose, destroy } = hub;
  const isList = () => hasCoalescingLink(hub.boundary);
  // The queue calls its member `receive` for each message, and replaces this member when its handlers change.
  let receive = queue.receive;
  const receiveTapped = (message) => {
    point.value(false, message, undefined, isList);
    receive(message);
  };
  Object.defineProperty(queue, "receive", {
    get: () => receiveTapped,
    set: (value) => void (receive = value),
    configurable: true,
    enumerable: true,
  });
  const restore = [
    replace(hub, "send", (message, transfer) => {
      const entries = point.value(true, message, transfer, isList);
      try {
        return send(message, transfer);
      } catch (error) {
        cancel(entries);
        throw error;
      }
    }),
    replace(hub, "onClose", (handler, isWaiting) => onClose(closing(handler, point), isWaiting)),
    replace(hub, "destroy", () => {
      point.close("the transport was destroyed");
      destroy();
    }),
    () => Object.defineProperty(queue, "receive", { value: receive, writable: true }),
  ];
  point.open();
  return () => restore.forEach((undo) => undo());
}

/** Taps a transport of an application, before a link uses it. */
function tapCustom(transport, point) {
  if (!Object.isExtensible(transport)) throw new TypeError("transport must be extensible, so that it can be tapped");
  if (registry.objects.get(transport)?.links.size > 0)
    throw new TypeError("transport must be tapped before a client or server uses it");
  const { send, onMessage, onClose, destroy } = transport;
  const isList = () => transport.coalesces === true || hasCoalescingLink(registry.objects.get(transport));
  const restore = [
    replace(transport, "send", (message, transfer) => {
      const entries = point.value(true, message, transfer, isList);
      try {
        return send.call(transport, message, transfer);
      } catch (error) {
        cancel(entries);
        throw error;
      }
    }),
    replace(transport, "onMessage", (handler, ...rest) => {
      const receive = (message) => {
        point.value(false, message, undefined, isList);
        return handler(message);
      };
      return onMessage.call(transport, receive, ...rest);
    }),
    onClose &&
      replace(transport, "onClose", (handler, ...rest) => onClose.call(transport, closing(handler, point), ...rest)),
    replace(transport, "destroy", () => {
      point.close("the transport was destroyed");
      return destroy?.call(transport);
    }),
  ];
  point.open();
  return () => restore.forEach((undo) => undo?.());
}

/** Wraps the handler of `onClose`, and records the loss of the peer. */
function closing(handler, point) {
  return (error, reopens, ...rest) => {
    if (!reopens) point.close(messageOf(error));
    return handler(error, reopens, ...rest);
  };
}

/** Returns whether a link on a boundary coalesces messages. On such a boundary, an array is a list, and not a batch. */
function hasCoalescingLink(boundary) {
  for (const link of boundary?.links ?? []) if (link.queue?.coalesce) return true;
  return false;
}
