// `JSONRPCClient` checks the options of calls. The link (`./driver/link.js`) sends the calls and ends them.

import { CALL_TIMEOUT, STREAM_WINDOW } from "./driver/limit-values.js";
import { Link } from "./driver/link.js";
import { CLIENT_DESTROYED } from "./driver/pending-calls.js";
import { Stream, validateWindow } from "./driver/stream-consumer.js";
import { timeoutProblem } from "./driver/timers.js";
import { finishClass } from "./finish-class.js";

/** Returns a `TypeError` if a progress handler is present and is not a function. Otherwise returns undefined. */
function progressProblem(handler) {
  if (handler && typeof handler !== "function")
    return new TypeError(`onProgress must be a function, got ${typeof handler}`);
}

/** Converts a timeout of the application to a timeout for wasm: milliseconds, or a negative number for no timeout. */
function milliseconds(timeout) {
  return timeout === 0 || timeout === Infinity ? -1 : timeout;
}

class JSONRPCClient {
  #link;
  #timeout;
  #destroyed = false;

  /**
   * @param {import("../types/transports.js").RPCTransport} transport
   * @param {import("../types/api.js").ClientOptions} [options]
   */
  constructor(transport, options) {
    const timeout = options?.timeout ?? CALL_TIMEOUT;
    const problem = timeoutProblem(timeout);
    if (problem !== undefined) throw problem;
    this.#timeout = timeout;
    this.#link = Link.on(transport, options);
  }

  /** @param {import("../types/api.js").RequestOptions} [options] */
  request(method, params, options) {
    // For speed, a call without options does not run the checks of the options.
    if (options === undefined && !this.#destroyed)
      return this.#link.request(this, method, params, milliseconds(this.#timeout));
    const timeout = options?.timeout ?? this.#timeout;
    const total = options?.totalTimeout ?? Infinity;
    const problem =
      timeoutProblem(timeout) ?? timeoutProblem(total, "totalTimeout") ?? progressProblem(options?.onProgress);
    if (problem !== undefined) return Promise.reject(problem);
    // Without this check, the link would accept calls of a destroyed client if another client or server uses the link.
    if (this.#destroyed) return Promise.reject(CLIENT_DESTROYED.forCall(method));
    const shorter = Math.min(timeout || Infinity, total || Infinity);
    return this.#link.request(this, method, params, milliseconds(shorter), options);
  }

  /** @param {import("../types/api.js").StreamOptions} [options] */
  stream(method, params, options) {
    const timeout = options?.timeout ?? this.#timeout;
    const window = options?.window ?? STREAM_WINDOW;
    const problem = timeoutProblem(timeout) ?? validateWindow(window);
    if (problem !== undefined) throw problem;
    const timeoutMs = milliseconds(timeout);
    return new Stream(this.#link, method, timeoutMs, window, options?.signal, (stream, resolve, reject) => {
      if (this.#destroyed) reject(CLIENT_DESTROYED.forCall(method));
      else this.#link.startCall(this, method, params, timeoutMs, options, resolve, reject, stream);
    });
  }

  /** @param {import("../types/api.js").NotifyOptions} [options] */
  notify(method, params, options) {
    if (this.#destroyed) return this.#link.report(CLIENT_DESTROYED.forCall(method));
    this.#link.notify(method, params, options?.transfer);
  }

  /** @param {import("../types/api.js").BatchOptions} [options] */
  batch(calls, options) {
    const timeout = options?.timeout ?? this.#timeout;
    const problem = timeoutProblem(timeout);
    if (problem !== undefined) return Promise.reject(problem);
    if (this.#destroyed) return Promise.reject(CLIENT_DESTROYED.forCall("batch"));
    return this.#link.batch(this, calls, milliseconds(timeout), options);
  }

  get pending() {
    return this.#link.pending(this);
  }

  get ignored() {
    return this.#link.ignored;
  }

  destroy() {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#link.release(this);
  }
}

const Client = /* @__PURE__ */ finishClass(JSONRPCClient);
export { Client as JSONRPCClient };
