// Invalid options of `webSocketTransport`, `ReconnectPolicy` and `subscribe`, and functions of the options that fail.

import { assert } from "chai";
import { ReconnectPolicy, connectTo, sockets, startServer, subscribe, webSocketTransport } from "./support/sockets.js";
import { JSONRPCClient } from "./support/portway.js";
import { rejection, until } from "./support/outcomes.js";

const url = "ws://127.0.0.1:9/";
const never = () => {};

/** Checks that `run` throws an error of this class with exactly this text. */
function throws(run, Class, text) {
  let error;
  try {
    run();
  } catch (thrown) {
    error = thrown;
  }
  assert.isDefined(error, `nothing was thrown, but it must be: ${text}`);
  assert.equal(error.message, text);
  assert.equal(error.constructor, Class, text);
}

describe("webSocketTransport", () => {
  const ms = "a number of milliseconds";
  const wrong = [
    [{ heartbeat: NaN }, RangeError, `heartbeat must be false, 0 or ${ms}, at least 100, got NaN`],
    [{ heartbeat: 50 }, RangeError, `heartbeat must be false, 0 or ${ms}, at least 100, got 50`],
    [{ heartbeat: -1 }, RangeError, `heartbeat must be false, 0 or ${ms}, at least 100, got -1`],
    [{ heartbeat: true }, TypeError, `heartbeat must be false, 0 or ${ms}, at least 100, got true`],
    [{ heartbeat: null }, TypeError, `heartbeat must be false, 0 or ${ms}, at least 100, got null`],
    [{ connectTimeout: "10" }, TypeError, `connectTimeout must be ${ms}, at least 0, got string`],
    [{ connectTimeout: NaN }, RangeError, `connectTimeout must be ${ms}, at least 0, got NaN`],
    [{ maxMessage: 0 }, RangeError, "maxMessage must be a number of characters, at least 1, got 0"],
    [{ queueNotifications: "no" }, TypeError, "queueNotifications must be true or false, got string"],
    [{ first: 5 }, TypeError, "first must be a string, an object, an array or a function, got number"],
    [{ first: [5] }, TypeError, "first must be a string or an object, got number"],
    [{ protocols: 5 }, TypeError, "protocols must be a string, an object, an array or a function, got number"],
    [{ shouldReconnect: true }, TypeError, "shouldReconnect must be a function, got true"],
    [{ onSession: "x" }, TypeError, "onSession must be a function, got string"],
    [{ onLost: 5 }, TypeError, "onLost must be a function, got number"],
    [{ onRetry: {} }, TypeError, "onRetry must be a function, got object"],
    [{ onEnd: [] }, TypeError, "onEnd must be a function, got array"],
    [{ reconnect: true }, TypeError, "reconnect must be false or an object, got true"],
    [{ reconnect: 1_000 }, TypeError, "reconnect must be false or an object, got number"],
    [{ reconnect: { jitter: 0.5 } }, TypeError, "reconnect.jitter must be a function, got number"],
    [{ reconnect: { base: -1 } }, RangeError, `reconnect.base must be ${ms}, at least 0, got -1`],
    [{ reconnect: { hold: "3s" } }, TypeError, `reconnect.hold must be ${ms}, at least 0, got string`],
    [
      { reconnect: { base: 500, cap: 10 } },
      RangeError,
      `reconnect.cap must be ${ms} (minimum: reconnect.base), at least 500, got 10`,
    ],
    [
      { reconnect: { bse: 1 } },
      TypeError,
      'unknown option "reconnect.bse"; expected one of base,cap,hold,restart,jitter',
    ],
  ];
  for (const [options, Class, text] of wrong)
    it(`throws if an option is wrong: ${text}`, () => {
      throws(() => webSocketTransport(url, { ...sockets, ...options }), Class, text);
    });

  it("throws if an option is misspelled, and lists the options", () => {
    const list = "WebSocket,protocols,first,connectTimeout,heartbeat,maxMessage,queueNotifications,reconnect";
    throws(
      () => webSocketTransport(url, { ...sockets, onsession: never }),
      TypeError,
      `unknown option "onsession"; expected one of ${list},shouldReconnect,onSession,onLost,onRetry,onEnd`,
    );
  });

  it("throws if the options are not an object, or if the URL is missing", () => {
    throws(() => webSocketTransport(url, null), TypeError, "options must be an object, got null");
    throws(() => webSocketTransport(url, never), TypeError, "options must be an object, got function");
    throws(
      () => webSocketTransport(undefined, sockets),
      TypeError,
      "url must be a string, a URL object or a function, got undefined",
    );
  });

  it("throws if there is no WebSocket class, and names the package that has one", () => {
    const { WebSocket } = globalThis;
    const text = "WebSocket must be a class or function, like that of `npm install ws`, got";
    try {
      globalThis.WebSocket = undefined;
      throws(() => webSocketTransport(url), TypeError, `${text} null`);
    } finally {
      globalThis.WebSocket = WebSocket;
    }
    throws(() => webSocketTransport(url, { WebSocket: {} }), TypeError, `${text} object`);
  });

  it("accepts the largest delays, and sets no timer again and again for them", async () => {
    const { setTimeout } = globalThis;
    let timers = 0;
    globalThis.setTimeout = (...args) => (timers++, setTimeout(...args));
    try {
      const { named } = connectTo(url, { reconnect: { base: 1e12, cap: Infinity, jitter: (delay) => delay } });
      await until(() => named("onRetry").length === 1);
      timers = 0;
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.isAtMost(timers, 2);
    } finally {
      globalThis.setTimeout = setTimeout;
    }
  });

  it("makes no further attempt if reconnect is false", async () => {
    const server = await startServer();
    const { peer, session, named, transport } = connectTo(server.url, { reconnect: false });
    await session();
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    await server.command("terminate");
    await until(() => transport.state === "closed");
    assert.deepEqual([named("onLost").length, named("onRetry").length, named("onEnd").length], [1, 0, 1]);
    assert.equal((await rejection(peer.request("echo", []))).reason, "peer-gone");
    const { peer: other } = connectTo(url, { reconnect: false });
    assert.equal((await rejection(other.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
  });
});

describe("a function of the options of webSocketTransport", () => {
  const failures = [
    ["throws", new Error("no luck"), "no luck"],
    ["returns NaN", NaN, "the result of reconnect.jitter must be a number of milliseconds, at least 0, got NaN"],
    ["returns -5", -5, "the result of reconnect.jitter must be a number of milliseconds, at least 0, got -5"],
    [
      "returns nothing",
      undefined,
      "the result of reconnect.jitter must be a number of milliseconds, at least 0, got undefined",
    ],
  ];
  for (const [what, result, text] of failures)
    it(`is reported if it is jitter and ${what}, and the delay is used without jitter`, async () => {
      const jitter = () => {
        if (result instanceof Error) throw result;
        return result;
      };
      const server = await startServer();
      await server.set({ upgrades: "503" });
      const { named, errors } = connectTo(server.url, { reconnect: { base: 20, cap: 40, jitter } });
      await until(() => named("onRetry").length >= 3);
      assert.deepEqual(
        named("onRetry")
          .slice(0, 3)
          .map(({ delay }) => delay),
        [20, 40, 40],
      );
      assert.equal(errors[0].message, text);
    });

  it("is reported if it is shouldReconnect and returns no boolean, and the close code decides", async () => {
    const server = await startServer();
    const { session, errors, named, transport } = connectTo(server.url, { shouldReconnect: () => "yes" });
    await session();
    await server.command("terminate");
    await session(2);
    await server.command("close", { code: 4403, reason: "" });
    await until(() => transport.state === "closed");
    assert.equal(named("onEnd").length, 1);
    for (const { message } of errors)
      assert.equal(message, "the result of shouldReconnect must be true, false or undefined, got string");
    assert.isAtLeast(errors.length, 2);
  });

  it("may close the transport in jitter, and then no attempt follows", async () => {
    const options = { reconnect: { jitter: () => (transport.close(), 0) } };
    const { peer, transport, named } = connectTo(url, options);
    assert.equal((await rejection(peer.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
    assert.equal(transport.state, "closed");
    assert.equal(named("onRetry").length, 0);
  });

  const results = [
    ["url", undefined, "url must be a string, a URL object or a function, got undefined"],
    ["protocols", 5, "protocols must be a string, an object, an array or a function, got number"],
    ["first", 5, "first must be a string or an object, got number"],
    ["first", [{ n: 1n }], "BigInt"],
  ];
  for (const [name, result, text] of results)
    it(`fails the attempt if it is ${name} and returns ${name === "url" ? "undefined" : typeof result}: ${text}`, async () => {
      const server = await startServer();
      let isWrong = true;
      const right = { url: server.url, protocols: undefined, first: [] };
      const value = () => (isWrong ? result : right[name]);
      const { peer, named } = connectTo(name === "url" ? value : server.url, name === "url" ? {} : { [name]: value });
      await until(() => named("onRetry").length >= 2);
      assert.include(named("onRetry")[0].cause.message, text);
      isWrong = false;
      assert.deepEqual(await peer.request("echo", ["now"]), ["now"]);
    });
});

describe("ReconnectPolicy", () => {
  it("throws if its options are not an object", () => {
    throws(() => new ReconnectPolicy(null), TypeError, "reconnect must be an object, got null");
    throws(() => new ReconnectPolicy(5), TypeError, "reconnect must be an object, got number");
  });

  it("uses the delay without jitter if jitter fails", () => {
    for (const jitter of [
      () => NaN,
      () => -1,
      () => "9",
      () => Symbol("x"),
      () => {
        throw new Error("x");
      },
    ]) {
      const policy = new ReconnectPolicy({ jitter });
      policy.start();
      policy.lost(0, 1006);
      assert.deepEqual([policy.state, policy.delay, policy.due], ["waiting", 500, 500]);
    }
  });

  it("has no delay if `base` is 0, however many attempts have failed", () => {
    const policy = new ReconnectPolicy({ base: 0 });
    policy.start();
    for (let n = 0; n < 1_100; n++) {
      policy.lost(n, 1006);
      assert.deepEqual([policy.delay, policy.due], [0, n]);
      policy.handleTimeout(n);
    }
  });

  it("has a maximum delay of `base` if `base` is longer than the default of `cap`", () => {
    const policy = new ReconnectPolicy({ base: 60_000, jitter: (delay) => delay });
    policy.start();
    policy.lost(0, 1006);
    assert.equal(policy.delay, 60_000);
  });
});

describe("subscribe", () => {
  it("throws if an argument is wrong, and names it", () => {
    const transport = webSocketTransport(url, sockets);
    const client = new JSONRPCClient(transport);
    const options = { transport, method: "subscribe", notification: "event" };
    const wrong = [
      [[], "client.request must be a function, got undefined"],
      [[client], "options must be an object, got undefined"],
      [[client, { ...options, transport: undefined }], "transport must be made by webSocketTransport"],
      [[client, { ...options, method: undefined }], "method must be a string, got undefined"],
      [[client, { ...options, notification: undefined }], "notification must be a string, got undefined"],
      [[client, { ...options, onGap: 5 }], "onGap must be a function, got number"],
      [[client, { ...options, unsubscribe: never }], "unsubscribe must be a string, got function"],
    ];
    for (const [args, text] of wrong) throws(() => subscribe(...args), TypeError, text);
    throws(
      () => subscribe(client, { ...options, buffer: 0 }),
      RangeError,
      "buffer must be a number, at least 1, got 0",
    );
    const names =
      "transport,method,params,unsubscribe,notification,readId,readEventId,readItem,onGap,buffer,timeout,signal";
    throws(
      () => subscribe(client, { ...options, unsubcribe: "a" }),
      TypeError,
      `unknown option "unsubcribe"; expected one of ${names}`,
    );
    client.destroy();
  });
});
