// Tests calls in every environment, and timeouts under the fake timers of a test runner.

export function equal(actual, expected) {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  }
}

const { setTimeout } = globalThis;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns two transports. Each transport receives the messages that the other transport sends. */
export function pair() {
  const ends = [{}, {}];
  ends.forEach((end, n) => {
    end.onMessage = (handler) => (end.handler = handler);
    end.send = (message) => void Promise.resolve().then(() => ends[1 - n].handler?.(message));
  });
  return ends;
}

const silent = () => ({ send() {}, onMessage() {} });

/** Returns the state of a call. Its `end` is `waits` while the call is pending, and later `answered` or the error. */
export function watch(call) {
  const state = { end: "waits" };
  call.then(
    () => (state.end = "answered"),
    (error) => (state.end = error.reason ?? String(error)),
  );
  return state;
}

/** Waits until a condition is true, by the real clock. */
async function until(condition) {
  for (let n = 0; !condition(); n++) {
    if (n === 1_000) throw new Error(`the condition must become true within 10 s: ${condition}`);
    await pause(10);
  }
}

/** Returns the tests that need no fake clock, as pairs of name and body. */
export function callTests(library) {
  const { JSONRPCClient, JSONRPCServer, RPCError, connect, default: init, validateMessage } = library;
  const tests = {
    async "a caller receives the result or the error of the handler"() {
      await init();
      const [near, far] = pair();
      const server = new JSONRPCServer(far)
        .method("add", ([a, b]) => a + b)
        .method("fail", () => {
          throw new RPCError(-32001, "no", [1]);
        });
      const client = new JSONRPCClient(near);
      equal(await client.request("add", [1, 2]), 3);
      const { code, data } = await client.request("fail").catch((error) => error);
      equal([code, data], [-32001, [1]]);
      client.destroy();
      server.destroy();
    },
    async "validateMessage() reports the errors of an invalid message"() {
      await init();
      equal(validateMessage({ jsonrpc: "2.0", method: 1 }).errors.length > 0, true);
    },
  };
  if (globalThis.MessageChannel !== undefined) {
    tests["a session begins over a port, and all items of a stream arrive"] = async () => {
      await init();
      const { port1, port2 } = new MessageChannel();
      async function* count() {
        for (let n = 0; n < 600; n++) yield n;
      }
      const [peer, other] = await Promise.all([connect(port1), connect(port2, { methods: { count } })]);
      let items = 0;
      for await (const _ of peer.stream("count")) items++;
      equal(items, 600);
      peer.destroy();
      other.destroy();
    };
  }
  return Object.entries(tests);
}

/**
 * Returns the tests under fake timers. `fake` has the methods `use({ only })`, `advance(ms)` and `real()`. If the fake
 * clock can drop its timers, `fake` also has `clear()`. `fresh()` resolves to another copy of the library.
 */
export function clockTests(library, fake, fresh) {
  const { JSONRPCClient, connect, default: init } = library;
  const tests = {
    async "a call ends exactly when its timeout elapses on the fake clock"() {
      fake.use({});
      const call = watch(new JSONRPCClient(silent()).request("f"));
      await fake.advance(9_999);
      equal(call.end, "waits");
      await fake.advance(1);
      equal(call.end, "timeout");
    },
    async "the timeout of each call starts when the call starts"() {
      fake.use({});
      const client = new JSONRPCClient(silent(), { timeout: 1_000 });
      const calls = [watch(client.request("f"))];
      await fake.advance(400);
      calls.push(watch(client.request("f")));
      await fake.advance(600);
      equal(
        calls.map(({ end }) => end),
        ["timeout", "waits"],
      );
      await fake.advance(400);
      equal(calls[1].end, "timeout");
    },
    async "a call times out if only setTimeout and clearTimeout are fake"() {
      fake.use({ only: ["setTimeout", "clearTimeout"] });
      const call = watch(new JSONRPCClient(silent()).request("f"));
      await fake.advance(9_000);
      equal(call.end, "waits");
      await fake.advance(2_000);
      equal(call.end, "timeout");
    },
    async "a call times out on the fake clock if its client made a call before the fake clock started"() {
      const client = new JSONRPCClient(silent());
      const before = watch(client.request("f", {}, { timeout: 20 }));
      await until(() => before.end === "timeout");
      fake.use({});
      const call = watch(client.request("f"));
      await fake.advance(9_999);
      equal(call.end, "waits");
      await fake.advance(1);
      equal(call.end, "timeout");
    },
    async "if the real clock replaces the fake clock during a call, the call times out no later than the next call"() {
      fake.use({});
      const client = new JSONRPCClient(silent(), { timeout: 100 });
      const earlierCall = watch(client.request("left over"));
      await fake.advance(50);
      fake.real();
      const later = watch(client.request("later"));
      equal(earlierCall.end, "waits");
      await until(() => later.end === "timeout");
      equal(earlierCall.end, "timeout");
      // A further call also times out.
      const last = watch(client.request("last"));
      await until(() => last.end === "timeout");
    },
    async "a call times out on a second fake clock although an earlier call is pending on the first"() {
      fake.use({});
      const client = new JSONRPCClient(silent());
      watch(client.request("left over"));
      await fake.advance(5_000);
      fake.real();
      fake.use({});
      const call = watch(client.request("f"));
      await fake.advance(10_000);
      equal(call.end, "timeout");
    },
    async "the package can be imported under fake timers"() {
      fake.use({});
      const copy = await fresh();
      await copy.default();
      const call = watch(new copy.JSONRPCClient(silent()).request("f"));
      await fake.advance(10_000);
      equal(call.end, "timeout");
    },
  };
  if (fake.clear !== undefined) {
    tests["a call times out although the timer of an earlier call was dropped"] = async () => {
      fake.use({});
      const client = new JSONRPCClient(silent());
      watch(client.request("lost"));
      await fake.advance(1);
      fake.clear();
      const call = watch(client.request("f"));
      await fake.advance(10_000);
      equal(call.end, "timeout");
    };
  }
  if (globalThis.MessageChannel !== undefined) {
    tests["a session begins although no timer fires"] = async () => {
      fake.use({});
      const { port1, port2 } = new MessageChannel();
      const [peer, other] = await Promise.all([
        connect(port1),
        connect(port2, { methods: { add: ([a, b]) => a + b } }),
      ]);
      equal(await peer.request("add", [1, 2]), 3);
      peer.destroy();
      other.destroy();
    };
  }
  return Object.entries(tests).map(([name, body]) => [
    name,
    async () => {
      await init();
      try {
        await body();
      } finally {
        fake.real();
      }
    },
  ]);
}
