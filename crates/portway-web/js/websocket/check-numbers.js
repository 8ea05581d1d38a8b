/** Throws if a member of `values` is not a number of at least `least`. The error contains the name of the member. */
export function checkNumbers(values, least = 0) {
  for (const [name, value] of Object.entries(values))
    if (!(value >= least)) throw new RangeError(`${name} must be at least ${least}, got ${value}`);
}
