// An adapter for post-me. `notify` emits an event of post-me. post-me has no timeouts.

import { ChildHandshake, ParentHandshake, PortMessenger, WindowMessenger, WorkerMessenger } from "post-me";

export async function call(side) {
  const connection = await ParentHandshake(messenger(side), {});
  const remote = connection.remoteHandle();
  const local = connection.localHandle();
  return {
    call: (method, params, transfer) =>
      transfer === undefined ? remote.call(method, params) : remote.customCall(method, [params], { transfer }),
    notify: (method, params) => local.emit(method, params),
  };
}

export async function serve(side, makeMethods) {
  // post-me reads the transfer list of a method after the method has run.
  let transferList = [];
  const { tick, ...methods } = makeMethods((value, list) => {
    transferList = list;
    return value;
  });
  const connection = await ChildHandshake(messenger(side), methods);
  connection.localHandle().setReturnTransfer("take", () => transferList);
  connection.remoteHandle().addEventListener("tick", tick);
}

function messenger({ kind, target, origin }) {
  if (kind === "port") return new PortMessenger({ port: target });
  if (kind === "worker" || kind === "self") return new WorkerMessenger({ worker: target });
  return new WindowMessenger({ localWindow: globalThis, remoteWindow: target, remoteOrigin: origin });
}
