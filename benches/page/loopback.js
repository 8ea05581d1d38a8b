// Two ports without a transport between them: what one posts, the other hears at once. What is left is the library.

import { makeMethods } from "./methods.js";

/** As much of a `MessagePort` as any library uses. */
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
    this.other.hear({ type: "message", data, ports: [], origin: "", source: null, isTrusted: true });
  }

  hear(event) {
    this.onmessage?.(event);
    for (const listener of this.#listeners)
      typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
  }

  start() {}
  close() {}
}

/** The calling end of a subject whose both ends are here. */
export async function loopback(subject) {
  const [near, far] = [new LoopbackPort(), new LoopbackPort()];
  near.other = far;
  far.other = near;
  subject.serve({ kind: "port", target: far }, makeMethods);
  return subject.call({ kind: "port", target: near });
}
