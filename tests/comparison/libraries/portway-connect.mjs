// Adapts Portway to tests/interop, which needs only calls. Both peers use `connect` with its defaults.

import init, { connect } from "../../../pkg/node.js";

await init();

export function serve(endpoint, methods) {
  const peer = connect(endpoint, { methods });
  // If a page closes before its session begins, `connect` rejects. The tests expect this rejection.
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
