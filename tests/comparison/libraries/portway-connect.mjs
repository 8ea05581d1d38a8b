// Adapts Portway to tests/interop, which needs only calls. Both peers use `connect` with its defaults.

import init, { connect } from "../../../pkg/node.js";

await init();

export function serve(endpoint, methods) {
  const peer = connect(endpoint, { methods });
  // `connect` rejects if the page closes before its session begins. The tests do not count this rejection as a fault.
  peer.catch(() => {});
  return { close: async () => (await peer).destroy() };
}

export async function connectCaller(endpoint) {
  const peer = await connect(endpoint);
  return {
    call: (method, params) => peer.request(method, params),
    callWithTimeout: (method, params, timeout) => peer.request(method, params, { timeout }),
    close: () => peer.destroy(),
  };
}
