// Detects that the peer of a connection no longer answers. If no message arrives for some time, this module pings the
// peer. If no message arrives for the same time after the ping, the module reports the loss of the connection. Time in
// which this thread was suspended or blocked does not count.

import { MAX_PATIENCE } from "../driver/limit-values.js";
import { MAX_TIMEOUT_MS } from "../driver/timers.js";

/** The number of checks in the time `option`. */
const CHECKS = 5;
/** The peer counts as alive if more than this number of bytes have passed between two checks. */
const PING_BYTES = 200;

/**
 * `option` is the time (ms) without a message before a ping, and the time for the answer to a ping. 0 or false disables
 * the checks. `isWaiting` returns whether calls are pending. `countBytes` returns a number that increases when bytes of
 * a message arrive or leave, if the platform shows them. `ping` sends a ping: a notification if its argument is true,
 * and a request otherwise. If no message arrives after a ping, `onDead` is called with the time (ms) of the wait. The
 * link passes `setTimer` and `now`.
 *
 * A page cannot see a message before its last byte has arrived. So a connection that this module reports as lost may
 * only be slow. While calls stay pending, for instance because they are sent again, each report doubles the time before
 * a ping and the time for the answer.
 */
export function liveness(option, isWaiting, countBytes, ping, onDead, setTimer, now) {
  const isOn = option > 0 && option <= MAX_TIMEOUT_MS;
  const interval = option / CHECKS;
  /** The time before a ping, and the time for the answer, are `option` times this factor. */
  let patience = 1;
  /** The result of `countBytes` at the last check. */
  let bytes;
  /** @type {any} The timer of the next check; undefined while there are no checks. */
  let timer;
  /** The number of intervals without a message. An interval whose timer was late does not count. */
  let silence = 0;
  /** The value of `silence` at the last ping; undefined if a message has arrived since. */
  let silenceAtPing;
  /** Whether the peer answers `rpc.ping` by `rpc.pong`. Such a peer is pinged even while no call is pending. */
  let answersPings = false;

  const reset = () => {
    silence = 0;
    silenceAtPing = undefined;
  };

  /** Starts the checks, unless they run already. Silence before this start does not count. */
  const watch = () => {
    if (!isOn || timer !== undefined) return;
    silence = 0;
    schedule();
  };

  const schedule = () => {
    const ms = interval * patience;
    const due = now() + ms;
    timer = setTimer(() => {
      timer = undefined;
      const isPending = isWaiting();
      if (!isPending) patience = 1;
      const count = countBytes();
      // A peer that no longer answers may still send pings of the WebSocket protocol, which are short.
      if (count > bytes + PING_BYTES) reset();
      bytes = count;
      if (now() < due + ms / 4) silence++;
      if (silenceAtPing === undefined) {
        if (!isPending && !answersPings) return;
      } else if (silence >= silenceAtPing + CHECKS) {
        patience = Math.min(2 * patience, MAX_PATIENCE);
        return onDead(ms * CHECKS);
      }
      schedule();
      if (silence >= (isPending ? CHECKS : 2 * CHECKS)) pingNow();
    }, ms);
  };

  /**
   * Pings the peer now, unless an earlier ping has no answer yet. Does nothing if no call is pending and the peer has
   * not shown that it answers `rpc.ping` by `rpc.pong`.
   */
  const pingNow = () => {
    if (!isOn || silenceAtPing !== undefined || !(isWaiting() || answersPings)) return;
    watch();
    silenceAtPing = silence;
    ping(answersPings);
  };

  return [
    reset,
    watch,
    pingNow,
    /** Called when the peer has sent `rpc.ping` or `rpc.pong`: such a peer also answers `rpc.ping`. */
    () => {
      answersPings = true;
      watch();
    },
    /** Stops the checks at the end of a connection. */
    () => {
      timer = clearTimeout(timer);
      answersPings = false;
      reset();
    },
  ];
}
