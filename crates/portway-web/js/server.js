// `JSONRPCServer` contains the handlers. The link (`./driver/link.js`) receives the messages and runs the handlers.

import { Link } from "./driver/link.js";
import { RequestContext } from "./driver/request-context.js";
import { finishClass } from "./finish-class.js";

function checkHandler(name, handler) {
  if (typeof name !== "string") throw new TypeError(`a method name must be a string, got ${typeof name}`);
  if (name.startsWith("rpc."))
    throw new TypeError(`the method name "${name}" is reserved, because it begins with "rpc."`);
  if (typeof handler !== "function")
    throw new TypeError(`the handler of "${name}" must be a function, got ${typeof handler}`);
}

/** Returns a function that takes an incoming message, and calls a handler with the public context of that message. */
function withContext(handler) {
  return (params, message) => handler(params, new RequestContext(message));
}

class JSONRPCServer {
  /** @internal */
  methods = new Map();
  /** @internal */
  notifications = new Map();
  /** @internal */
  errorData;
  #link;
  #destroyed = false;

  /**
   * @param {import("../types/transports.js").RPCTransport} transport
   * @param {import("../types/api.js").ServerOptions} [options]
   */
  constructor(transport, options) {
    this.errorData = options?.errorData;
    this.#link = Link.on(transport, options);
    this.#link.addServer(this);
  }

  method(name, handler) {
    checkHandler(name, handler);
    this.methods.set(name, withContext(handler));
    return this;
  }

  onNotify(name, handler) {
    checkHandler(name, handler);
    this.notifications.set(name, withContext(handler));
    return this;
  }

  destroy() {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.methods.clear();
    this.notifications.clear();
    this.#link.release(this);
  }
}

const Server = /* @__PURE__ */ finishClass(JSONRPCServer);
export { Server as JSONRPCServer };
