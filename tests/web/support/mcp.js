// Peers and messages for the specs of the dialect `mcp`.

import { JSONRPCPeer } from "./portway.js";
import { scriptedChannel } from "./transports.js";

export const mcp = { dialect: "mcp" };

export const request = (id, method, params) => ({ jsonrpc: "2.0", id, method, params });
export const cancelled = (params) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params });
export const progressed = (params) => ({ jsonrpc: "2.0", method: "notifications/progress", params });

/** Returns a peer in the dialect, the `RemoteEnd` that acts as its peer, and the errors that it reports. */
export function scriptedPeer(options) {
  const { transport, remoteEnd } = scriptedChannel();
  const errors = [];
  const peer = new JSONRPCPeer(transport, { ...mcp, onError: (error) => errors.push(error), ...options });
  return { peer, remoteEnd, errors };
}
