// An adapter for kkrpc, which has transports for workers and sends text. kkrpc has neither notifications nor timeouts.
// So `notify` makes a call and ignores its result.

import { RPCChannel, WorkerChildIO, WorkerParentIO } from "kkrpc/browser";

export function call({ target }) {
  const remote = new RPCChannel(new WorkerParentIO(target)).getAPI();
  return {
    call: (method, params) => remote[method](params),
    notify: (method, params) => void remote[method](params),
  };
}

export function serve(_, makeMethods) {
  new RPCChannel(new WorkerChildIO(), { expose: makeMethods() });
}
