// `connect` for the Rust API. Rust creates the peer itself. The npm package does not contain this file.

import { prepareSession } from "../session/open-session.js";
import { untilTrap } from "./trap-guard.js";
import { eventCodeOf } from "./client-server.js";

/**
 * Returns a transport and the function `open`, which starts the transport and resolves when the first session begins.
 * `timeout` is in milliseconds; a negative number means no timeout.
 */
export function sessionTo(target, origin, channel, heartbeat, timeout, sessionCallback, lossCallback) {
  const [onBegin, onEnd] = [untilTrap(sessionCallback), untilTrap(lossCallback)];
  const onSession = ({ number }) => onBegin(number);
  const onLost = (error) => onEnd(eventCodeOf(error), error);
  const { transport, open } = prepareSession(target, { origin, channel, heartbeat, onSession, onLost });
  return {
    transport,
    open: () => new Promise((resolve, reject) => open(timeout).then(untilTrap(resolve), untilTrap(reject))),
  };
}
