// Adds several listeners, which are removed together.

/** Adds listeners, if the target has events. Returns a function that removes them. */
export function addListeners(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener?.(type, listener);
  adjustMaxListeners(target, 1);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) target.removeEventListener?.(type, listener);
    adjustMaxListeners(target, -1);
  };
}

/** Changes the number of listeners that an emitter of Node allows. Node warns of more than ten listeners by default. */
export function adjustMaxListeners(target, change) {
  const max = target.getMaxListeners?.();
  if (max > 0) target.setMaxListeners(max + change);
}
