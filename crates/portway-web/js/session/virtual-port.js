// A virtual port carries the messages of one session over a worker that also carries other messages. Each message is
// wrapped in an object with the random name of the virtual port.

/**
 * An object with the members of `MessagePort` that a session uses. It replaces a real port because in most engines, a
 * port to a worker is several times slower than the worker itself.
 */
export class VirtualPort {
  #target;
  #name;
  /** Maps each listener to the function that was added to the target. */
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
