// Cap'n Web, by its session over a MessagePort. It has neither notifications nor timeouts, so a tick is a call whose
// answer is ignored.

import { RpcTarget, newMessagePortRpcSession } from "capnweb";

export function call({ target }) {
  const remote = newMessagePortRpcSession(target);
  return {
    call: (method, params) => remote[method](params),
    notify: (method, params) => void remote[method](params),
  };
}

export function serve({ target }, makeMethods) {
  class Served extends RpcTarget {}
  for (const [name, handler] of Object.entries(makeMethods())) Served.prototype[name] = (params) => handler(params);
  newMessagePortRpcSession(target, new Served());
}
