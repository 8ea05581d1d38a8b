// Access to the messages that `early.js` has buffered. `early.js` may be loaded as a separate module, so both modules
// use a global.

const EARLY = Symbol.for("portway.early");

/** Returns the buffered message events of `source` that `isMine` accepts. The caller listens to later events itself. */
export function takeBuffered(source, isMine = () => true) {
  // If `early.js` has not been loaded yet, this function creates the set of the handled sources.
  const handled = (globalThis[EARLY] ??= new WeakSet());
  handled.add(source);
  return handled.take?.(isMine, source) ?? [];
}

/**
 * Notifies `early.js` that the wasm has started, or has failed with `error`. After a failure, callers receive an error
 * response. `null` stands for an error that was logged already.
 */
export function finishEarly(error) {
  globalThis[EARLY]?.settle?.(error);
}
