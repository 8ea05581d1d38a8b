// kkrpc, over its adapters for workers. Its messages are text. It has neither notifications nor timeouts, so a tick is
// a call whose answer is ignored.

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
