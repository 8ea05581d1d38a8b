// The probes share this code. It connects a library to itself, records messages, and waits for promises.

/**
 * Connects a library to itself over a new channel. `seen` has the messages of both directions. `here` is the port of
 * the caller, and `there` is the port of the handlers.
 */
export async function connected(library, methods) {
  const { port1, port2 } = new MessageChannel();
  const seen = tap(port1, port2);
  library.serve(port2, methods);
  return { ...(await library.connectCaller(port1)), seen, here: port1, there: port2 };
}

/** Returns an array to which each message of the ports is added. */
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
    const result = typeof promise === "function" ? promise() : promise;
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(() => resolve({ state: "pending" }), limit)));
    const settled = Promise.resolve(result).then(
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

/** Returns the text for an outcome of `ending`. expected.json contains this text. */
export function describe({ state, error }) {
  if (state !== "rejected") return state;
  return `rejected with ${error instanceof Error ? error.message : String(error)}`;
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves after 400 ms. Even on a busy machine, sent messages usually arrive in this time. */
export function quiet() {
  return pause(400);
}

/** Returns the outcome of a probe. `says` is the text in the table, `saw` is the observation. */
export function outcome(says, saw) {
  return { says, saw };
}

/** The outcome of a probe if the library lacks the feature. */
export const UNSUPPORTED = outcome("no", "it has no such call");
