// The tool that the host offers to its model and to the view.

/** The number of candidates between two calls of `onStep`. */
const STEP = 20_000;

/** Counts the primes up to `limit`. After each step, waits for `onStep(number of the checked candidates)`. */
export async function countPrimes(limit, onStep = async () => {}) {
  let count = 0;
  for (let candidate = 2; candidate <= limit; candidate++) {
    if (isPrime(candidate)) count++;
    if (candidate % STEP === 0) await onStep(candidate);
  }
  return count;
}

/** Returns the result of the tool, as MCP specifies it. */
export function resultOf(limit, count) {
  return {
    content: [{ type: "text", text: `There are ${count} primes up to ${limit}.` }],
    structuredContent: { limit, count },
  };
}

function isPrime(candidate) {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) return false;
  return true;
}
