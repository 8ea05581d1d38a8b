// A private way over a boundary that others use, too: what goes there is wrapped under a name that only its two ends know.

/**
 * As much of a `MessagePort` as a session needs, over a worker: most engines take several times as long for a port of its
 * own.
 */
export class Lane {
  #target;
  #name;
  /** What hears the target for each listener. */
  #hearers = new Map();

  constructor(target, name) {
    this.#target = target;
    this.#name = name;
  }

  postMessage(message, transfer) {
    this.#target.postMessage({ portway: this.#name, message }, transfer);
  }

  addEventListener(type, listener) {
    // That of a worker is told to who has connected to it.
    if (type === "close") return;
    const hear = ({ data }) => data?.portway === this.#name && listener({ data: data.message });
    this.#hearers.set(listener, type === "message" ? hear : listener);
    this.#target.addEventListener(type, this.#hearers.get(listener));
  }

  removeEventListener(type, listener) {
    if (this.#hearers.has(listener)) this.#target.removeEventListener(type, this.#hearers.get(listener));
  }

  start() {}

  close() {}
}
