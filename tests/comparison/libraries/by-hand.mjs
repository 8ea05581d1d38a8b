// What one writes for a library that leaves its channel to its user: how to send, how to listen, how to stop.

/** The channel at an endpoint of this kind; a window is heard only from its own origin and as itself. */
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
