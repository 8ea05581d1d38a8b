// The channel that users write for libraries without one: sending, listening and stopping.

/** The channel at an endpoint of this kind. A window accepts messages only from its own origin and its own window. */
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
