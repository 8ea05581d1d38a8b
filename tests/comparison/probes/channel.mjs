// What the probes have in common: two ends of a channel, what crosses it, and how a promise ended.

/** A library joined to itself over a new channel; `seen` is what crossed it, both ways. */
export async function connected(library, methods) {
  const { port1, port2 } = new MessageChannel();
  const seen = tap(port1, port2);
  library.serve(port2, methods);
  return { ...(await library.call(port1)), seen, here: port1, there: port2 };
}

/** Listens to what arrives at the ports, and touches nothing. */
export function tap(...ports) {
  const seen = [];
  for (const port of ports) port.addEventListener("message", ({ data }) => seen.push(data));
  return seen;
}

/**
 * How a promise, or a function that makes one, ended: `fulfilled`, `rejected`, or `pending` after so many milliseconds.
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
export function told({ state, error }) {
  if (state !== "rejected") return state;
  return `rejected with ${error instanceof Error ? error.message : String(error)}`;
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Until whatever is under way has arrived, on a busy machine, too. */
export function quiet() {
  return pause(400);
}

/** The outcome of a probe: what the table says, and what was seen. */
export function outcome(says, saw) {
  return { says, saw };
}

/** For what a library has no call for. */
export const NOTHING = outcome("no", "it has no such call");
