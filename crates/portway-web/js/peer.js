// `JSONRPCPeer`: a client and a server on one transport.

import { JSONRPCClient } from "./client.js";
import { finishClass } from "./finish-class.js";
import { JSONRPCServer } from "./server.js";

/** A client, and a server on the same transport. */
class JSONRPCPeer extends JSONRPCClient {
  #server;

  /**
   * @param {import("../types/transports.js").RPCTransport} transport
   * @param {import("../types/api.js").PeerOptions} [options]
   */
  constructor(transport, options) {
    super(transport, options);
    this.#server = new JSONRPCServer(transport, options);
    this.remote = remote(this);
  }

  method(name, handler) {
    this.#server.method(name, handler);
    return this;
  }

  onNotify(name, handler) {
    this.#server.onNotify(name, handler);
    return this;
  }

  destroy() {
    super.destroy();
    this.#server.destroy();
  }
}

/**
 * Names of members that the language, consoles, test runners and frameworks look up in any object, and may call. The
 * proxy does not treat these members as methods of the peer. The printer of Jest calls `hasAttribute`, React calls
 * `@@iterator`, and Vue reads `__v_raw`.
 */
const WELL_KNOWN = /^(then|toJSON|toString|valueOf|inspect|asymmetricMatch|hasAttribute|\$\$typeof|@@.*|__v_.*)$/;

/** Returns a proxy: `remote.name(params, options)` calls `client.request("name", params, options)`. */
function remote(client) {
  // Vue wraps no object whose `__v_skip` is true.
  return new Proxy(Object.freeze(Object.defineProperty({}, "__v_skip", { value: true })), {
    get(target, name) {
      if (typeof name === "symbol" || WELL_KNOWN.test(name)) return target[name];
      return (params, options) => client.request(name, params, options);
    },
  });
}

const Peer = /* @__PURE__ */ finishClass(JSONRPCPeer);
export { Peer as JSONRPCPeer };
