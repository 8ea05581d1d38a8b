// Decides whether a connection is dead. Any message is a sign of life. A silent peer is asked, and then has the same time
// for an answer. Time in which this thread was suspended or blocked does not count (`Heartbeat`).

import { Heartbeat, heartbeatMs } from "../transport/heartbeat.js";

/** The number of checks before a silent peer is asked. */
const CHECKS = 5;

/**
 * `option` is the silence (ms) before a question, and the time for its answer; 0 or false disables both. `isWaiting`
 * returns whether calls are pending. `ping` asks the peer, by a notification if its argument is null. `onDead` is called
 * if there is no answer.
 */
export function liveness(option, isWaiting, ping, onDead) {
  const ms = heartbeatMs(option);
  let isChecking = false;
  /** Whether the peer answers `rpc.ping` by `rpc.pong`, so that it can be asked while no call is pending. */
  let answersPings = false;
  /** The silence at the time of the last question; undefined if none is open. */
  let asked;
  const heartbeat = new Heartbeat(ms / CHECKS, false, () => {
    const { silentMs } = heartbeat;
    const waits = isWaiting();
    // The sum of the intervals may be rounded down.
    if (asked === undefined) {
      if (!waits && !answersPings) return void (isChecking = false);
      if (silentMs + 1 > (waits ? ms : 2 * ms)) ask();
    } else if (silentMs + 1 > asked + ms) return onDead();
    return waits;
  });

  const reset = () => {
    heartbeat.silentMs = 0;
    asked = undefined;
  };

  /** Starts the checks, if they do not run. Silence without a pending call does not count. */
  const watch = () => {
    if (isChecking || ms === 0) return;
    isChecking = true;
    heartbeat.silentMs = 0;
    heartbeat.start();
  };

  /** Asks the peer now, unless a question is open. */
  const ask = () => {
    if (ms === 0 || asked !== undefined || !(isWaiting() || answersPings)) return;
    watch();
    asked = heartbeat.silentMs;
    ping(answersPings ? null : undefined);
  };

  return {
    reset,
    watch,
    ask,
    /** Called once the peer has shown that it answers `rpc.ping` by `rpc.pong`. */
    onPortwayPeer() {
      answersPings = true;
      watch();
    },
    begin() {
      answersPings = false;
      reset();
    },
    stop() {
      isChecking = false;
      heartbeat.stop();
    },
  };
}
