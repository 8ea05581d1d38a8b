// Portway by `connect` at both ends, with its defaults, for the suite that needs no more than calls.

import init, { connect } from "../../../pkg/node.js";

await init();

export function serve(endpoint, methods) {
  const peer = connect(endpoint, { methods });
  // A page that goes away may not have connected.
  peer.catch(() => {});
  return { close: async () => (await peer).destroy() };
}

export async function call(endpoint) {
  const peer = await connect(endpoint);
  return {
    call: (method, params) => peer.request(method, params),
    callWithTimeout: (method, params, timeout) => peer.request(method, params, { timeout }),
    close: () => peer.destroy(),
  };
}
