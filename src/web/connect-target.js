// Where the other side of a connection is: how to post to it, how to hear it, and whether it can still be there.

import { boundaryOf, boundaryOfWindow, registry } from "./boundaries.js";
import { takeEarly } from "./early-buffer.js";
import { isOurs } from "./envelope.js";
import { gone, portClosed, tagOf } from "./errors.js";
import { VirtualPort } from "./virtual-port.js";
import { MAX_FOREIGN_READS } from "./limit-values.js";
import { listen } from "./event-listeners.js";
import { allowsOrigin, ownOrigin, targetOrigins } from "./origin.js";
import { isClosed, isPort } from "./messages.js";
import { need } from "./transports.js";

/** What `connect` needs of its target. Only what a window of another origin allows is touched before it is known. */
export function doorTo(target, origin) {
  if (target === null || target === undefined) {
    throw new TypeError(`connect(${target}): is the iframe in the document? open() with noopener gives no window`);
  }
  if (target.window === target) return windowDoor(() => target, origin);
  if (target.contentWindow !== undefined) return windowDoor(() => target.contentWindow, origin, target);
  const isChannel = typeof target.postMessage === "function" && typeof target.addEventListener === "function";
  // A broadcast channel may have many members, but a session has two. Not every realm has the class.
  if (isChannel && !(globalThis.BroadcastChannel && target instanceof BroadcastChannel)) return channelDoor(target);
  throw new TypeError(
    "connect() takes an iframe, a window, a worker or a port; for anything else, make a transport { send, onMessage }",
  );
}

/** A window, or what is in `frame`: that is another window each time the frame is put into the document. */
function windowDoor(current, origin, frame) {
  const allowed = targetOrigins(origin, () => ownOrigin(globalThis));
  let hadWindow = current() !== null;
  let foreignReads = 0;
  const door = {
    allowed,
    frame,
    current,
    target: () => current() ?? frame,
    boundary: boundaryOfWindow(globalThis, current() ?? frame),
    /** Posts to one origin, or as long as that is not known, to each that is allowed. */
    post(message, transfer, to) {
      for (const one of to === undefined ? allowed : [to]) {
        const origin = one === "null" ? "*" : one;
        // An empty frame has the origin of this page. The browser would log an attempt for another origin.
        const known = frame?.contentDocument?.defaultView?.origin;
        if (origin !== "*" && known !== undefined && known !== origin) continue;
        current()?.postMessage(message, origin, transfer);
      }
    },
    /** `onLoad` is called as a document in the frame has loaded. */
    listen(hear, lose, fail, onLoad) {
      const onEvent = (event) => {
        const { source, origin, isTrusted } = event;
        const isAllowed = allowsOrigin(allowed, origin);
        // Without a source it may be a goodbye: a window that goes has none any more.
        if (isTrusted === false || (source === null ? !isAllowed : source !== current())) return;
        // Of an origin that is not allowed only a hello counts, and it comes early. Reading data makes the engine copy it.
        if (!isAllowed && ++foreignReads > MAX_FOREIGN_READS) return;
        const { data } = event;
        // The key of the session shows whose goodbye it is.
        if (isOurs(data) && (source !== null || data.method === "rpc.bye")) hear(data, origin, isAllowed);
      };
      const stops = [
        listen(globalThis, { message: onEvent }),
        listen(frame ?? {}, { load: onLoad }),
        () => registry.frames.delete(door),
      ];
      registry.frames.add(door);
      if (current() !== null) takeEarly(current()).forEach(onEvent);
      return () => stops.forEach((stop) => stop());
    },
    /** Why the other side cannot be there. */
    loss() {
      // Such a frame gets messages of its own window only, from which no script of this window can post.
      if (frame?.ownerDocument?.defaultView && frame.ownerDocument !== globalThis.document) {
        return gone("the iframe is in the document of another window: call connect() in a script of that window");
      }
      const window = current();
      if (window !== null && !window.closed) return void (hadWindow = true);
      if (window !== null) return gone("the window is closed, or cut off by noopener or Cross-Origin-Opener-Policy");
      return gone(
        hadWindow ? "the frame was removed" : "the iframe is not in the document: append it before connect()",
      );
    },
  };
  return door;
}

/** A worker, a port, or the owner of this worker. */
function channelDoor(target) {
  need(target, "the target");
  return {
    boundary: boundaryOf(target),
    target: () => target,
    post: (message, transfer) => target.postMessage(message, transfer),
    /** Whether both sides certainly share locks. A process of Node has its own locks. */
    sharesLocks: target === globalThis || tagOf(target) === "[object Worker]",
    // For ports, nothing is gained by it; and a session with one of its own outlives the port that it was made over.
    lane: target.start === undefined ? (name) => new VirtualPort(target, name) : undefined,
    listen(hear, lose, fail) {
      const message = ({ data }) => isOurs(data) && hear(data, undefined, true);
      const stop = listen(target, {
        message,
        // Of ports, and of the workers of Node; not every engine has it.
        close: ({ error }) =>
          target.start === undefined ? fail(error, gone("the worker or process has ended", error)) : lose(portClosed()),
        // In a worker itself, errors are its own.
        error: (event) => target !== globalThis && fail(event.error ?? event),
      });
      target.start?.();
      if (isPort(target) && isClosed(target)) Promise.resolve().then(() => lose(portClosed()));
      if (target === globalThis) takeEarly(target).forEach(message);
      return stop;
    },
    loss() {},
  };
}
