// Tests for every environment: calls, and timeouts under the fake timers of a runner.

export function equal(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`found ${JSON.stringify(found)} in place of ${JSON.stringify(wanted)}`);
  }
}

const { setTimeout } = globalThis;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Two transports: each receives the messages of the other. */
export function pair() {
  const ends = [{}, {}];
  ends.forEach((end, n) => {
    end.onMessage = (handler) => (end.handler = handler);
    end.send = (message) => void Promise.resolve().then(() => ends[1 - n].handler?.(message));
  });
  return ends;
}

const silent = () => ({ send() {}, onMessage() {} });

/** The state of a call: whether and how it has ended. */
export function watch(call) {
  const state = { end: "waits" };
  call.then(
    () => (state.end = "answered"),
    (error) => (state.end = error.reason ?? String(error)),
  );
  return state;
}

/** Waits by the real clock until a condition holds. */
async function until(isSo) {
  for (let n = 0; !isSo(); n++) {
    if (n === 1_000) throw new Error("it does not come to that");
    await pause(10);
  }
}

/** The tests that need no clock: pairs of name and body. */
export function callTests(library) {
  const { JSONRPCClient, JSONRPCServer, RPCError, connect, default: init, validateMessage } = library;
  const tests = {
    async "a call is answered, and an error crosses"() {
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
    async "an invalid message is explained"() {
      await init();
      equal(validateMessage({ jsonrpc: "2.0", method: 1 }).errors.length > 0, true);
    },
  };
  if (globalThis.MessageChannel !== undefined) {
    tests["a session begins over a port, and a stream comes whole"] = async () => {
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
 * The tests under fake timers. `fake` has `use({ only, again })`, `advance(ms)`, `real()` and, if timers can be
 * dropped, `clear()`; `fresh()` resolves to another copy of the library.
 */
export function clockTests(library, fake, fresh) {
  const { JSONRPCClient, connect, default: init } = library;
  const tests = {
    async "a call ends when its time is up by the fake clock, neither before nor later"() {
      fake.use({});
      const call = watch(new JSONRPCClient(silent()).request("f"));
      await fake.advance(9_999);
      equal(call.end, "waits");
      await fake.advance(1);
      equal(call.end, "timeout");
    },
    async "each call of a client counts from its own beginning"() {
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
    async "setTimeout alone may be replaced"() {
      fake.use({ only: ["setTimeout", "clearTimeout"] });
      const call = watch(new JSONRPCClient(silent()).request("f"));
      await fake.advance(9_000);
      equal(call.end, "waits");
      await fake.advance(2_000);
      equal(call.end, "timeout");
    },
    async "a client that was in use before is on the fake clock, too"() {
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
    async "a call that waits as real timers come back ends with the next call at the latest"() {
      fake.use({});
      const client = new JSONRPCClient(silent(), { timeout: 100 });
      const left = watch(client.request("left over"));
      await fake.advance(50);
      fake.real();
      const later = watch(client.request("later"));
      equal(left.end, "waits");
      await until(() => later.end === "timeout");
      equal(left.end, "timeout");
      const last = watch(client.request("last"));
      await until(() => last.end === "timeout");
    },
    async "a second fake clock takes the place of the first"() {
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
    async "the package may be imported under fake timers"() {
      fake.use({});
      const copy = await fresh();
      await copy.default();
      const call = watch(new copy.JSONRPCClient(silent()).request("f"));
      await fake.advance(10_000);
      equal(call.end, "timeout");
    },
  };
  if (fake.clear !== undefined) {
    tests["a timer that was dropped costs its own calls only"] = async () => {
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
    tests["a session begins though no timer fires"] = async () => {
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
