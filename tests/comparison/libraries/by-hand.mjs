// With some libraries, the application itself must post the messages and listen for them. This file has the code that
// such an application would write.

/**
 * Returns the channel of an endpoint. For an iframe or a parent window, the channel accepts only messages that the
 * endpoint sends from the origin of this page.
 */
export function channelOf(endpoint, kind = "port") {
  const remote = kind === "frame" ? endpoint.contentWindow : kind === "parent" ? endpoint : undefined;
  const target = remote === undefined ? endpoint : globalThis;
  const listeners = new Map();
  return {
    post(message, transfer = []) {
      if (remote === undefined) endpoint.postMessage(message, transfer);
      else remote.postMessage(message, location.origin, transfer);
    },
    on(handler) {
      const listener = ({ data, source, origin }) => {
        if (remote === undefined || (source === remote && origin === location.origin)) handler(data);
      };
      listeners.set(handler, listener);
      target.addEventListener("message", listener);
      target.start?.();
    },
    off: (handler) => target.removeEventListener("message", listeners.get(handler)),
    close() {
      for (const listener of listeners.values()) target.removeEventListener("message", listener);
      if (kind === "port") endpoint.close();
    },
  };
}
