// Listeners that are added together, and removed together.

/** Adds listeners, where the target has any; returns a function that removes them. */
export function addListeners(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener?.(type, listener);
  adjustMaxListeners(target, 1);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) target.removeEventListener?.(type, listener);
    adjustMaxListeners(target, -1);
  };
}

/** Node warns of more than ten listeners for an event, unless more are allowed. */
export function adjustMaxListeners(target, change) {
  const max = target.getMaxListeners?.();
  if (max > 0) target.setMaxListeners(max + change);
}
