// Hands over what `early.js` has kept. It may be loaded as a module of its own, so the two meet on the global object.

const EARLY = Symbol.for("portway.early");

/** The message events kept so far that are for the caller. From here on, the caller hears them itself. */
export function takeEarly(isMine) {
  return globalThis[EARLY]?.take(isMine) ?? [];
}

/** Tells those who call meanwhile that this side will not start; or without an error, that it has started after all. */
export function settleEarly(error) {
  globalThis[EARLY]?.settle(error);
}
