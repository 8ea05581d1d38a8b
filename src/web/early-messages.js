// Hands over what `early.js` has kept. It may be loaded as a module of its own, so the two meet on the global object.

const EARLY = Symbol.for("portway.early");

/** The message events kept so far that are for the caller, which hears `source` itself from here on. */
export function takeEarly(isMine, source) {
  // `early.js` may be loaded later, or not at all.
  const heard = (globalThis[EARLY] ??= new WeakSet());
  heard.add(source);
  return heard.take?.(isMine) ?? [];
}

/** Tells those who call meanwhile that this side will not start; or without an error, that it has started after all. */
export function settleEarly(error) {
  globalThis[EARLY]?.settle?.(error);
}
