// Hands over what `early.js` has kept. It may be loaded as a module of its own, so the two meet on the global object.

const EARLY = Symbol.for("portway.early");

/** The message events of `source` kept so far that are for the caller, which hears `source` itself from here on. */
export function takeBuffered(source, isMine = () => true) {
  // `early.js` may be loaded later, or not at all.
  const heard = (globalThis[EARLY] ??= new WeakSet());
  heard.add(source);
  return heard.take?.(isMine, source) ?? [];
}

/**
 * The wasm has not started, for this error, or null if it was printed already: callers get an answer. Without an error, it
 * has started.
 */
export function finishEarly(error) {
  globalThis[EARLY]?.settle?.(error);
}
