// Adapts birpc to the probes. The options `post`, `on` and `off` connect birpc to the channel; other options keep
// their defaults. The adapter has functions only for features that birpc has.

import { createBirpc } from "birpc";
import { channelOf } from "./by-hand.mjs";

/** birpc has no error class. This function sets the properties of an `Error`, as an application would. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const rpc = start(endpoint, methods, kind);
  return { close: () => rpc.$close() };
}

export async function connectCaller(endpoint, kind) {
  return serveAndCall(endpoint, {}, kind);
}

export async function serveAndCall(endpoint, methods, kind) {
  const rpc = start(endpoint, methods, kind);
  return {
    call: (method, params) => rpc[method](params),
    notify: (method, params) => rpc[method].asEvent(params),
    close: () => rpc.$close(),
  };
}

function start(endpoint, methods, kind) {
  const { post, on, off } = channelOf(endpoint, kind);
  const exposed = {};
  for (const [method, handler] of Object.entries(methods)) exposed[method] = (params) => handler(params, {});
  return createBirpc(exposed, { post: (message) => post(message), on, off });
}
