// An adapter for Penpal. Between windows, Penpal creates a MessagePort. Penpal has no notifications, so `notify` makes
// a call and ignores its result. Calls have no timeout by default, so `callTimed` sets one.

import { CallOptions, PortMessenger, Reply, WindowMessenger, WorkerMessenger, connect } from "penpal";

// Penpal calls the timers of `window`, which does not exist in workers.
globalThis.window ??= globalThis;

export async function call(side) {
  const remote = await connect({ messenger: messenger(side), methods: {} }).promise;
  const timed = new CallOptions({ timeout: 60_000 });
  return {
    call: (method, params, transferables) =>
      transferables === undefined ? remote[method](params) : remote[method](params, new CallOptions({ transferables })),
    callTimed: (method, params) => remote[method](params, timed),
    notify: (method, params) => void remote[method](params),
  };
}

export function serve(side, makeMethods) {
  connect({
    messenger: messenger(side),
    methods: makeMethods((value, transferables) => new Reply(value, { transferables })),
  });
}

function messenger({ kind, target, origin }) {
  if (kind === "port") return new PortMessenger({ port: target });
  if (kind === "worker" || kind === "self") return new WorkerMessenger({ worker: target });
  return new WindowMessenger({ remoteWindow: target, allowedOrigins: [origin] });
}
