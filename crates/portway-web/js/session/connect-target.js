// Adapters for the targets of `connect`. An adapter posts messages to its target, adds listeners, and reports whether
// the target is closed.

import { boundaryOf, boundaryOfWindow, registry } from "../driver/boundaries.js";
import { takeBuffered } from "../transport/early-buffer.js";
import { isMessageOrBatch } from "../driver/envelope.js";
import { callError, peerGoneError, portClosedError, tagOf } from "../driver/errors.js";
import { VirtualPort } from "./virtual-port.js";
import { MAX_FOREIGN_READS } from "../driver/limit-values.js";
import { addListeners } from "../transport/event-listeners.js";
import { allowsEvent, ownOrigin, parseOrigins, postOrigins } from "../transport/origin.js";
import { isClosedPort, isPort } from "../driver/transfer-list.js";
import { refuseOtherTarget, requireMethods } from "../transport/transports.js";

/**
 * Returns the adapter for a target of `connect`. Reading most members of a window of another origin throws. Reading
 * `window` does not throw, so this function reads that member first.
 */
export function resolveTarget(target, origin) {
  if (target === null || target === undefined) {
    throw new TypeError(`connect(${target}): is the iframe in the document? open() with noopener gives no window`);
  }
  if (target.window === target) return windowTarget(() => target, origin);
  if (target.contentWindow !== undefined) return windowTarget(() => target.contentWindow, origin, target);
  // A BroadcastChannel is refused, because a session has two sides, and a channel may connect more than two.
  refuseOtherTarget(target);
  const isChannel = typeof target.postMessage === "function" && typeof target.addEventListener === "function";
  if (isChannel) return channelTarget(target);
  throw new TypeError(
    "connect() takes an iframe, window, worker or port; for anything else, make a transport { send, onMessage }",
  );
}

/**
 * Returns the adapter for a window, or for the iframe `frame`. Each insertion of an iframe into the document creates a
 * new window, so `currentWindow` is a function, which is called for each use.
 */
function windowTarget(currentWindow, origin, frame) {
  const allowed = parseOrigins(origin, () => ownOrigin(globalThis));
  let hadWindow = currentWindow() !== null;
  let foreignReads = 0;
  const target = {
    allowed,
    frame,
    currentWindow,
    identity: () => currentWindow() ?? frame,
    boundary: boundaryOfWindow(globalThis, currentWindow() ?? frame),
    /** Posts a message to the origin `to`. Without `to`, posts it to each allowed origin. */
    post(message, transfer, to) {
      for (const origin of postOrigins(to === undefined ? allowed : [to])) {
        // Until an iframe has loaded its document, it has the origin of this page. Meanwhile, no message is posted to
        // another origin, because the browser would log an error.
        const known = frame?.contentDocument?.defaultView?.origin;
        if (origin !== "*" && known !== undefined && known !== origin) continue;
        currentWindow()?.postMessage(message, origin, transfer);
      }
    },
    /**
     * Adds the listeners, and returns the function that removes them. `onLoad` runs when the iframe has loaded a
     * document. No event reports the end or an error of a window, so `onClosed` and `onError` are not used.
     */
    listen(onMessage, onClosed, onError, onLoad) {
      const onEvent = (event) => {
        const { source, origin } = event;
        // A goodbye (`rpc.bye`) of a window that is being unloaded may have no source.
        const isAllowed = allowsEvent(event, source === null ? null : currentWindow(), allowed);
        if (source === null ? !isAllowed : isAllowed === undefined) return;
        // A hello (`rpc.hello`) from a forbidden origin shows that the window contains another document. Only the first
        // `MAX_FOREIGN_READS` messages from forbidden origins are read, because the engine copies `data` when it is
        // read.
        if (!isAllowed && ++foreignReads > MAX_FOREIGN_READS) return;
        const { data } = event;
        // A message without a source is accepted only if it is a goodbye. The key of the session authenticates the
        // goodbye.
        if (isMessageOrBatch(data) && (source !== null || data.method === "rpc.bye"))
          onMessage(data, origin, isAllowed);
      };
      const cleanups = [
        addListeners(globalThis, { message: onEvent }),
        addListeners(frame ?? {}, { load: onLoad }),
        () => registry.frames.delete(target),
      ];
      registry.frames.add(target);
      if (currentWindow() !== null) takeBuffered(currentWindow()).forEach(onEvent);
      return () => cleanups.forEach((cleanup) => cleanup());
    },
    /** Returns the error if the window is closed or unreachable, and undefined otherwise. */
    closedReason() {
      // The peer in an iframe accepts only messages from scripts of the window that contains the iframe. This script
      // runs in another window.
      if (frame?.ownerDocument?.defaultView && frame.ownerDocument !== globalThis.document) {
        return peerGoneError("the iframe is in the document of another window: call connect() in that window");
      }
      const window = currentWindow();
      if (window !== null && !window.closed) return void (hadWindow = true);
      if (window !== null)
        return peerGoneError("the window is closed, or cut off by noopener or Cross-Origin-Opener-Policy");
      return peerGoneError(
        hadWindow ? "the frame was removed" : "the iframe is not in the document: append it before connect()",
      );
    },
  };
  return target;
}

/** Returns the adapter for a worker, for a port, or for the owner of this worker. */
function channelTarget(channel) {
  requireMethods(channel, "the target");
  return {
    boundary: boundaryOf(channel),
    identity: () => channel,
    post: (message, transfer) => channel.postMessage(message, transfer),
    /** Whether this realm and the peer certainly share Web Locks: true only for a web worker and its owner. */
    sharesLocks: channel === globalThis || tagOf(channel) === "[object Worker]",
    /**
     * Returns a virtual port on a worker. If the target is a port, this member is undefined, and each session uses a
     * real port. A virtual port on a port would not be faster, and would end when the target is closed.
     */
    virtualPort: channel.start === undefined ? (name) => new VirtualPort(channel, name) : undefined,
    listen(onMessage, onClosed, onError) {
      const message = ({ data }) => isMessageOrBatch(data) && onMessage(data, undefined, true);
      const stop = addListeners(channel, {
        message,
        // Node dispatches `close` for ports and workers. Some browsers do not dispatch it for ports.
        close: ({ error }) =>
          channel.start === undefined
            ? onError(error, peerGoneError("the worker or process has ended", error))
            : onClosed(portClosedError()),
        // The global object of this worker reports errors of this worker, not of the peer.
        error: (event) => channel !== globalThis && onError(event.error ?? event),
      });
      channel.start?.();
      if (isPort(channel) && isClosedPort(channel)) Promise.resolve().then(() => onClosed(portClosedError()));
      if (channel === globalThis) takeBuffered(channel).forEach(message);
      return stop;
    },
    closedReason() {},
  };
}

/**
 * Returns the error for a `connect` that has received no answer. A window that does not allow the origin of this page
 * does not answer, so the text names this origin.
 * @param {number} ms
 * @param {{ allowed?: string[], identity: () => unknown }} target
 */
export function noAnswer(ms, { allowed, identity }) {
  if (identity() === globalThis.window)
    return callError("no-answer", `no answer within ${ms} ms: this window is its own parent`);
  const hint = allowed ? `, and allow the origin "${globalThis.origin}"` : "";
  return callError("no-answer", `no answer within ${ms} ms: has its script loaded, does it connect(), too${hint}?`);
}

/** Runs a function when this document has loaded, unless the signal is aborted before. */
export function whenLoaded(run, signal) {
  if (document.readyState === "complete") run();
  else addEventListener("load", run, { once: true, signal });
}
