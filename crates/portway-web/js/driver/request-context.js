// The second argument of a handler. It has the members that `HandlerContext` in `types/api.d.ts` declares. Through the
// context, a handler cannot reach other objects of the library.

/**
 * The context of a request or notification. Most handlers use none of its functions, so a getter creates each function
 * when it is read. The functions do not use `this`, so a handler may destructure the context
 * (`(params, { signal, progress }) => …`).
 */
export class RequestContext {
  #message;

  constructor(message) {
    this.#message = message;
    this.method = message.method;
    this.id = message.id;
    if (message.origin !== undefined) this.origin = message.origin;
  }

  /** Vue does not wrap an object with this member in a proxy. A proxy could not access private members. */
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
