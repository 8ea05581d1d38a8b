// An adapter for Cap'n Web, which has sessions over a MessagePort. Cap'n Web has neither notifications nor timeouts. So
// `notify` makes a call and ignores its result.

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
