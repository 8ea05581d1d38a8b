// birpc, as the probes use it: wired to the channel by `post`, `on` and `off`, the rest by default. Features
// without a call are left out.

import { createBirpc } from "birpc";
import { channelOf } from "./by-hand.mjs";

/** It has no class of errors; the properties are set as on any error of an application. */
export function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

export function serve(endpoint, methods, kind) {
  const rpc = start(endpoint, methods, kind);
  return { close: () => rpc.$close() };
}

export async function call(endpoint, kind) {
  return both(endpoint, {}, kind);
}

export async function both(endpoint, methods, kind) {
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
