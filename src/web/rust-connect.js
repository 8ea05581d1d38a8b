// `connect` for the Rust API, which creates the peer itself. The npm package does not contain this file.

import { prepareSession } from "./open-session.js";
import { untilTrap } from "./trap-guard.js";
import { endCode } from "./rust-client-server.js";

/**
 * Returns a transport, and the function that starts it and waits for its first session. `timeout` is in milliseconds; a
 * negative one never ends the attempt.
 */
export function sessionTo(target, origin, channel, heartbeat, timeout, sessionCallback, lossCallback) {
  const [onBegin, onEnd] = [untilTrap(sessionCallback), untilTrap(lossCallback)];
  const onSession = ({ number }) => onBegin(number);
  const onLost = (error) => onEnd(endCode(error), error);
  const { transport, open } = prepareSession(target, { origin, channel, heartbeat, onSession, onLost });
  return {
    transport,
    open: () => new Promise((resolve, reject) => open(timeout).then(untilTrap(resolve), untilTrap(reject))),
  };
}
