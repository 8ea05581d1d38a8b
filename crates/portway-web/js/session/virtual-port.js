// A virtual port: a session's messages on a shared worker, each wrapped with a name that only the two ends know.

/**
 * The part of `MessagePort` that a session needs, multiplexed over a worker. Most engines deliver several times slower
 * through a real port of a worker.
 */
export class VirtualPort {
  #target;
  #name;
  /** The function that was added to the target for each listener. */
  #targetListeners = new Map();

  constructor(target, name) {
    this.#target = target;
    this.#name = name;
  }

  postMessage(message, transfer) {
    this.#target.postMessage({ portway: this.#name, message }, transfer);
  }

  addEventListener(type, listener) {
    // The connect target handles the `close` event of the worker.
    if (type === "close") return;
    const unwrap = ({ data }) => data?.portway === this.#name && listener({ data: data.message });
    this.#targetListeners.set(listener, type === "message" ? unwrap : listener);
    this.#target.addEventListener(type, this.#targetListeners.get(listener));
  }

  removeEventListener(type, listener) {
    if (this.#targetListeners.has(listener))
      this.#target.removeEventListener(type, this.#targetListeners.get(listener));
  }

  start() {}

  close() {}
}
