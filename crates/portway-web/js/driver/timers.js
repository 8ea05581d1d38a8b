// Sets timers outside of the zones of Angular. An Angular application does not count as stable while a timer of its
// zone is pending.

/** The maximum delay of a timer. Browsers run a timer with a longer delay at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Returns the error for an invalid timeout, or undefined for a valid timeout. */
export function timeoutProblem(timeout, name = "timeout") {
  if (typeof timeout === "number" && timeout >= 0) return undefined;
  const text = `${name} must be a non-negative number of milliseconds (0 = no timeout), got ${String(timeout)}`;
  return new RangeError(text);
}

/**
 * Runs a function after a time in milliseconds. Returns the timer, for `clearTimeout`. The timer is set outside of all
 * zones, and the function runs in the zone of the caller. If the zone of the caller has a clock of its own (in a test),
 * the timer is set in this zone.
 */
export function setTimer(run, ms) {
  const { Zone, setTimeout } = globalThis;
  // In WebKit, the global `Zone` may be an iframe with this name. If its origin differs, reading its members throws.
  const zone = typeof Zone === "function" ? Zone.current : undefined;
  if (zone === undefined || zone.get("FakeAsyncTestZoneSpec")) return setTimeout(run, ms);
  return Zone.root.run(() => setTimeout(() => zone.run(run), ms));
}
