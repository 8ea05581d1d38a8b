/** Throws if a value is not a number of at least `least`. The names of the values are in the error. */
export function checkNumbers(values, least = 0) {
  for (const [name, value] of Object.entries(values))
    if (!(value >= least)) throw new RangeError(`${name} must be at least ${least}, got ${value}`);
}
