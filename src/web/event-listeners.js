// Listeners that are added together, and removed together.

/** Adds listeners, where the target has any; returns a function that removes them. */
export function listen(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener?.(type, listener);
  allowListeners(target, 1);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) target.removeEventListener?.(type, listener);
    allowListeners(target, -1);
  };
}

/** Node warns of more than ten listeners for an event, unless more are allowed. */
export function allowListeners(target, more) {
  const most = target.getMaxListeners?.();
  if (most > 0) target.setMaxListeners(most + more);
}
