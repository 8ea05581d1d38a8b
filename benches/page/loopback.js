// Two ports that deliver messages synchronously, without a transport. So the measured time is that of the library
// alone.

import { makeMethods } from "./methods.js";

/** A port with those members of `MessagePort` that the libraries use. */
class LoopbackPort {
  onmessage = null;
  #listeners = [];

  addEventListener(type, listener) {
    if (type === "message") this.#listeners.push(listener);
  }

  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  postMessage(data) {
    this.otherPort.dispatch({ type: "message", data, ports: [], origin: "", source: null, isTrusted: true });
  }

  dispatch(event) {
    this.onmessage?.(event);
    for (const listener of this.#listeners)
      typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
  }

  start() {}
  close() {}
}

/** Starts a server and a client of a library in this realm, and returns the client. */
export async function loopback(library) {
  const [client, server] = [new LoopbackPort(), new LoopbackPort()];
  client.otherPort = server;
  server.otherPort = client;
  library.serve({ kind: "port", target: server }, makeMethods);
  return library.call({ kind: "port", target: client });
}
