// Timers outside of Angular zones: an Angular application is not stable while a timer of its zone is pending.

/** The longest time of a timer in browsers: 2^31 - 1 ms. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Runs a function after a time in milliseconds. Returns the timer, for `clearTimeout`. `kind` may be "setInterval". The
 * timer is set outside of all zones, and the function runs in the zone of the caller. In a zone with its own clock,
 * that clock drives the timer.
 */
export function setTimer(run, ms, kind = "setTimeout") {
  const { Zone } = globalThis;
  // In WebKit, `Zone` may be an iframe of any origin, and reading its members would throw.
  const zone = typeof Zone === "function" ? Zone.current : undefined;
  if (zone === undefined || zone.get("FakeAsyncTestZoneSpec")) return globalThis[kind](run, ms);
  return Zone.root.run(() => globalThis[kind](() => zone.run(run), ms));
}
