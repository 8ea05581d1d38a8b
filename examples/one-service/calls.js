// What the page asks the worker, and `ask.mjs` the socket: the same calls, in the same words.

/**
 * Makes the calls, one after the other, and tells of each what it is for and how it ended. A `service` has the methods
 * `request` and `notify` of Portway's `JSONRPCClient`.
 */
export async function makeCalls(service, tell) {
  const ask = (method, params, options) => end(service.request(method, params, options), options?.signal);

  const progress = [];
  const counted = await ask("countPrimes", { below: 50_000 }, { onProgress: (value) => progress.push(value) });
  tell("progress, and then a result", { ...counted, progress });
  tell("a result with nothing in it", await ask("countPrimes", { below: 2 }));
  tell("params by position", await ask("factor", [360]));
  tell("no params", await ask("status"));

  tell("an error of the service", await ask("factor", [0]));
  tell("an error with data", await ask("countPrimes", { below: 4_000_000_000 }));
  tell("params of another type", await ask("countPrimes", { below: "many" }));
  tell("params that lack something", await ask("countPrimes", {}));
  tell("params that are missing", await ask("countPrimes"));
  tell("a method that there is not", await ask("countSheep", { below: 3 }));

  service.notify("limit", { most: 1_000_000 });
  tell("a notification comes before what is sent after it", await ask("countPrimes", { below: 1_000_001 }));

  const controller = new AbortController();
  let status;
  const onProgress = () => {
    status ??= ask("status").finally(() => controller.abort());
  };
  const { signal } = controller;
  tell("a call that is cancelled", await ask("countPrimes", { below: 1_000_000 }, { onProgress, signal }));
  tell("another call meanwhile", await status);
  tell(
    "and one afterwards",
    await soon(
      () => ask("status"),
      ({ result }) => result?.counting === 0,
    ),
  );
}

/** How a call ends. */
function end(call, signal) {
  return call.then(
    (result) => ({ result }),
    (error) => {
      if (signal?.aborted && error === signal.reason) return { cancelled: true };
      const { code, message, data } = error;
      // What is no answer of the service has no such code.
      if (!Number.isInteger(code)) return { problem: String(error) };
      return { error: { code, message, ...(data !== undefined && { data }) } };
    },
  );
}

/** On a socket what was cancelled may be at work on another thread, and then goes on to its next pause. */
async function soon(ask, isSo) {
  for (const giveUp = Date.now() + 5_000; ; ) {
    const answer = await ask();
    if (isSo(answer) || Date.now() > giveUp) return answer;
  }
}
