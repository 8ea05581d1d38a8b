// Adapts Comlink to the probes, by `wrap` and `expose` with their defaults. The adapter has functions only for features
// that Comlink has.

import * as Comlink from "comlink";

/** Comlink has no error class. This function sets the properties of an `Error`, as an application would. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const exposed = {};
  for (const [method, handler] of Object.entries(methods)) {
    exposed[method] = (params, progress) => handler(params, { progress, transfer: Comlink.transfer });
  }
  Comlink.expose(exposed, endpointOf(endpoint, kind));
}

export async function connectCaller(endpoint, kind) {
  const remote = Comlink.wrap(endpointOf(endpoint, kind));
  return {
    call: (method, params) => remote[method](params),
    callForProgress: (method, params, onProgress) => remote[method](params, Comlink.proxy(onProgress)),
    callWithTransfer: (method, params, transfer) => remote[method](Comlink.transfer(params, transfer)),
    notify: (method, params) => remote[method](params),
    close: () => remote[Comlink.releaseProxy](),
  };
}

export async function serveAndCall(endpoint, methods) {
  serve(endpoint, methods);
  return connectCaller(endpoint);
}

function endpointOf(endpoint, kind) {
  if (kind === "frame") return Comlink.windowEndpoint(endpoint.contentWindow);
  return kind === "parent" ? Comlink.windowEndpoint(endpoint) : endpoint;
}
