// Shared by the probes: two ends of a channel, the messages on it, and the outcome of a promise.

/** A library connected to itself over a new channel; `seen` are the messages on it, in both directions. */
export async function connected(library, methods) {
  const { port1, port2 } = new MessageChannel();
  const seen = tap(port1, port2);
  library.serve(port2, methods);
  return { ...(await library.call(port1)), seen, here: port1, there: port2 };
}

/** Listens to the messages of the ports, and changes nothing. */
export function tap(...ports) {
  const seen = [];
  for (const port of ports) port.addEventListener("message", ({ data }) => seen.push(data));
  return seen;
}

/**
 * Returns the outcome of a promise, or of a function that returns one: `fulfilled`, `rejected`, or `pending` after
 * `limit` ms.
 */
export async function ending(promise, limit = 2000) {
  try {
    const made = typeof promise === "function" ? promise() : promise;
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(() => resolve({ state: "pending" }), limit)));
    const settled = Promise.resolve(made).then(
      (value) => ({ state: "fulfilled", value }),
      (error) => ({ state: "rejected", error }),
    );
    const outcome = await Promise.race([settled, late]);
    clearTimeout(timer);
    return outcome;
  } catch (error) {
    return { state: "rejected", error };
  }
}

/** An ending in words, which become part of the expected results. */
export function describe({ state, error }) {
  if (state !== "rejected") return state;
  return `rejected with ${error instanceof Error ? error.message : String(error)}`;
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves once all messages under way have arrived, on a busy machine, too. */
export function quiet() {
  return pause(400);
}

/** The outcome of a probe: the words of the table, and the observation. */
export function outcome(says, saw) {
  return { says, saw };
}

/** The outcome for a library without such a call. */
export const NOTHING = outcome("no", "it has no such call");
