// The baseline for the wire format: a minimal client and server for JSON-RPC 2.0, without checks, timeouts or errors.

import { bareChannelOf } from "./channel.mjs";

export function call(side) {
  const { post, listen } = bareChannelOf(side);
  const pending = new Map();
  let lastId = 0;
  listen(({ id, result }) => {
    const resolve = pending.get(id);
    pending.delete(id);
    resolve(result);
  });
  return {
    call: (method, params, transfer) =>
      new Promise((resolve) => {
        const id = ++lastId;
        pending.set(id, resolve);
        post({ jsonrpc: "2.0", method, params, id }, transfer);
      }),
    notify: (method, params) => post({ jsonrpc: "2.0", method, params }),
  };
}

export function serve(side, makeMethods) {
  const { post, listen } = bareChannelOf(side);
  let transferList;
  const methods = makeMethods((value, list) => {
    transferList = list;
    return value;
  });
  listen(({ method, params, id }) => {
    const result = methods[method](params);
    if (id === undefined) return;
    if (result instanceof Promise) return void result.then((result) => post({ jsonrpc: "2.0", result, id }));
    post({ jsonrpc: "2.0", result, id }, transferList);
    transferList = undefined;
  });
}
