// Listeners that are added together, and removed together.

/** Adds listeners, where the target has any; gives what removes them. */
export function listen(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener?.(type, listener);
  return () => {
    for (const [type, listener] of Object.entries(listeners)) target.removeEventListener?.(type, listener);
  };
}
