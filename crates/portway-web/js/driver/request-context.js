// The second argument of a handler. It has the members that `HandlerContext` in `api.d.ts` declares, and nothing else
// of the library can be reached from it.

/**
 * The context of a request or notification. Its functions are made when a handler asks for them: most handlers need
 * none of them, and a handler may destructure the context (`(params, { signal, progress }) => …`).
 */
export class RequestContext {
  #message;

  constructor(message) {
    this.#message = message;
    this.method = message.method;
    this.id = message.id;
    if (message.origin !== undefined) this.origin = message.origin;
  }

  /** Vue does not wrap an object with this member in a proxy, which cannot access private members. */
  get __v_skip() {
    return true;
  }

  get signal() {
    return this.#message.signal;
  }

  get progress() {
    return (value, transfer) => this.#message.progress(value, transfer);
  }

  get yield() {
    return () => this.#message.yield();
  }

  get transfer() {
    return (list) => this.#message.transfer(list);
  }

  get notify() {
    return (method, params, options) => this.#message.notify(method, params, options);
  }
}
