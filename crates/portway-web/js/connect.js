// `connect`: creates a peer over a session transport, and resolves when the first session begins.

import { noAnswer, resolveTarget } from "./session/connect-target.js";
import { queueTask } from "./driver/queue-task.js";
import { CONNECT_TIMEOUT } from "./driver/limit-values.js";
import { abortReason } from "./driver/messages.js";
import { SessionTransport } from "./session/session-transport.js";
import { MAX_TIMEOUT_MS, setTimer } from "./driver/timers.js";
import { JSONRPCPeer } from "./peer.js";

/** @type {typeof import("../types/connect.js").connect} */
export async function connect(target, options) {
  const { signal, connectTimeout = CONNECT_TIMEOUT, heartbeat = 0, origin, methods, notifications } = options ?? {};
  for (const [name, time] of Object.entries({ connectTimeout, heartbeat })) {
    if (!(time >= 0))
      throw new RangeError(`${name} must be a non-negative number of milliseconds, got ${String(time)}`);
  }
  if (signal?.aborted) throw abortReason(signal);
  let peer;
  let timer;
  let onAbort;
  try {
    return await new Promise((resolve, reject) => {
      const connectTarget = resolveTarget(target, origin);
      const transport = new SessionTransport(connectTarget, options ?? {}, () => resolve(peer), reject);
      peer = new JSONRPCPeer(transport, options);
      for (const [name, handler] of Object.entries(methods ?? {})) peer.method(name, handler);
      for (const [name, handler] of Object.entries(notifications ?? {})) peer.onNotify(name, handler);
      onAbort = () => reject(abortReason(/** @type {AbortSignal} */ (signal)));
      signal?.addEventListener("abort", onAbort);
      if (connectTimeout > 0 && connectTimeout <= MAX_TIMEOUT_MS) {
        const late = () => reject(noAnswer(connectTimeout, connectTarget));
        // If this thread was blocked, an answer that has arrived is handled first.
        timer = setTimer(() => queueTask(late), connectTimeout);
      }
      transport.start();
    });
  } catch (error) {
    peer?.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
