// `connect` creates a peer over a session transport. Its promise resolves to the peer when the first session begins.

import { CONNECT_TIMEOUT } from "./driver/limit-values.js";
import { abortReason } from "./driver/messages.js";
import { prepareSession } from "./session/open-session.js";
import { JSONRPCPeer } from "./peer.js";

/** @type {typeof import("../types/connect.js").connect} */
export async function connect(target, options) {
  options ??= {};
  if (/** @type {any} */ (options).dialect !== undefined) {
    throw new TypeError('connect must have no dialect; use new JSONRPCPeer(transport, { dialect: "mcp" })');
  }
  const { signal, connectTimeout = CONNECT_TIMEOUT, heartbeat = 0, methods, notifications } = options;
  for (const [name, time] of Object.entries({ connectTimeout, heartbeat })) {
    if (!(time >= 0))
      throw new RangeError(`${name} must be a non-negative number of milliseconds, got ${String(time)}`);
  }
  if (signal?.aborted) throw abortReason(signal);
  const { transport, open, fail } = prepareSession(target, options);
  const onAbort = () => fail(abortReason(/** @type {AbortSignal} */ (signal)));
  let peer;
  try {
    peer = new JSONRPCPeer(transport, options);
    for (const [name, handler] of Object.entries(methods ?? {})) peer.method(name, handler);
    for (const [name, handler] of Object.entries(notifications ?? {})) peer.onNotify(name, handler);
    signal?.addEventListener("abort", onAbort);
    await open(connectTimeout || -1);
    return peer;
  } catch (error) {
    peer?.destroy();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
