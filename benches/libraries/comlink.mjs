// An adapter for Comlink. Comlink has no notifications, so `notify` makes a call and ignores its result.

import * as Comlink from "comlink";

export function call(side) {
  const remote = Comlink.wrap(endpointOf(side));
  return {
    call: (method, params, transfer) =>
      remote[method](transfer === undefined ? params : Comlink.transfer(params, transfer)),
    notify: (method, params) => void remote[method](params),
  };
}

export function serve(side, makeMethods) {
  Comlink.expose(makeMethods(Comlink.transfer), endpointOf(side));
}

function endpointOf({ kind, target, origin }) {
  return kind === "frame" || kind === "parent" ? Comlink.windowEndpoint(target, globalThis, origin) : target;
}
