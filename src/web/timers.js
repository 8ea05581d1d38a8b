// Timers. An application of Angular is not stable while a timer is pending that was set in its zone.

/**
 * Runs a function after a time in milliseconds; returns what `clearTimeout` takes. `kind` may be "setInterval". The timer is set
 * outside of all zones, and the function runs in the zone of the caller. A zone with a clock of its own drives the timer.
 */
export function setTimer(run, ms, kind = "setTimeout") {
  const { Zone } = globalThis;
  const zone = Zone?.current;
  if (typeof Zone?.root?.run !== "function" || zone.get("FakeAsyncTestZoneSpec")) return globalThis[kind](run, ms);
  return Zone.root.run(() => globalThis[kind](() => zone.run(run), ms));
}
