// An adapter for birpc with its default options. The default timeout is 60 s.

import { createBirpc } from "birpc";
import { channelOf } from "./channel.mjs";

export function call(side) {
  const rpc = start(side, {});
  return {
    call: (method, params) => rpc[method](params),
    notify: (method, params) => rpc[method].asEvent(params),
  };
}

export function serve(side, makeMethods) {
  start(side, makeMethods());
}

function start(side, methods) {
  const { post, listen } = channelOf(side);
  return createBirpc(methods, { post: (message) => post(message), on: listen });
}
