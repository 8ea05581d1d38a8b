// The calls of this example. The page makes them to the worker, and `ask.mjs` makes them to the socket.

/**
 * Makes the calls, and runs `report(purpose, outcome)` for each of them. `client` has the methods `request` and
 * `notify` of Portway's `JSONRPCClient`.
 */
export async function makeCalls(client, report) {
  const ask = (method, params, options) => outcomeOf(client.request(method, params, options), options?.signal);

  const progress = [];
  const counted = await ask("countPrimes", { below: 50_000 }, { onProgress: (value) => progress.push(value) });
  report("progress, and then a result", { ...counted, progress });
  report("an empty result", await ask("countPrimes", { below: 2 }));
  report("params by position", await ask("factor", [360]));
  report("no params", await ask("status"));

  report("an error of the service", await ask("factor", [0]));
  report("an error with data", await ask("countPrimes", { below: 4_000_000_000 }));
  report("a param of the wrong type", await ask("countPrimes", { below: "many" }));
  report("params without a required member", await ask("countPrimes", {}));
  report("no params for a method that needs them", await ask("countPrimes"));
  report("an unknown method", await ask("countSheep", { below: 3 }));

  client.notify("limit", { most: 1_000_000 });
  report("a notification is handled before a later request", await ask("countPrimes", { below: 1_000_001 }));

  const controller = new AbortController();
  let statusOutcome;
  const onProgress = () => {
    statusOutcome ??= ask("status").finally(() => controller.abort());
  };
  const { signal } = controller;
  report("a cancelled call", await ask("countPrimes", { below: 1_000_000 }, { onProgress, signal }));
  report("a call during the cancelled one", await statusOutcome);
  report(
    "a call after the cancelled one",
    await repeatUntil(
      () => ask("status"),
      ({ result }) => result?.counting === 0,
    ),
  );
}

/** Returns the outcome of a call: `{ result }`, `{ error }`, `{ cancelled }`, or `{ problem }` without a response. */
function outcomeOf(call, signal) {
  return call.then(
    (result) => ({ result }),
    (error) => {
      if (signal?.aborted && error === signal.reason) return { cancelled: true };
      const { code, message, data } = error;
      // An error without a numeric code is not a response of the service.
      if (!Number.isInteger(code)) return { problem: String(error) };
      return { error: { code, message, ...(data !== undefined && { data }) } };
    },
  );
}

/**
 * Repeats a call until its outcome satisfies `isFinal`, for at most 5 s. On a socket, a cancelled request may still run
 * on another thread until its next pause, so `status` may still count it.
 */
async function repeatUntil(ask, isFinal) {
  for (const deadline = Date.now() + 5_000; ; ) {
    const outcome = await ask();
    if (isFinal(outcome) || Date.now() > deadline) return outcome;
  }
}
