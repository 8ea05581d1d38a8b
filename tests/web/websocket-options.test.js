// Invalid options of `webSocketTransport`, `ReconnectPolicy` and `subscribe`, and functions of the options that fail.

import { assert } from "chai";
import { ReconnectPolicy, connectTo, sockets, startServer, subscribe, webSocketTransport } from "./support/sockets.js";
import { JSONRPCClient } from "./support/portway.js";
import { rejection, until } from "./support/outcomes.js";

const url = "ws://127.0.0.1:9/";
const noop = () => {};

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
    [{ first: 5 }, TypeError, "first must be a string, an object or an array, got number"],
    [{ first: [true] }, TypeError, "first must be a string, an object or an array, got true"],
    [{ protocols: 5 }, TypeError, "protocols must be one or more strings, got number"],
    [{ protocols: {} }, TypeError, "protocols must be one or more strings, got object"],
    [{ protocols: new Set(["a"]) }, TypeError, "protocols must be one or more strings, got object"],
    [{ protocols: [["a"]] }, TypeError, "protocols must be one or more strings, got array"],
    [{ protocols: null }, TypeError, "protocols must be one or more strings, got null"],
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
    [{ reconnect: { base: 500, cap: 10 } }, RangeError, `reconnect.cap must be ${ms}, at least 500, got 10`],
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

  it("throws an error that lists the options if an option is misspelled", () => {
    const list = "WebSocket,protocols,first,connectTimeout,heartbeat,maxMessage,queueNotifications,reconnect";
    throws(
      () => webSocketTransport(url, { ...sockets, onsession: noop }),
      TypeError,
      `unknown option "onsession"; expected one of ${list},shouldReconnect,onSession,onLost,onRetry,onEnd`,
    );
  });

  it("throws if the options are not an object, or if the URL is missing or has another type", () => {
    throws(() => webSocketTransport(url, null), TypeError, "options must be an object, got null");
    throws(() => webSocketTransport(url, noop), TypeError, "options must be an object, got function");
    for (const [value, type] of [
      [undefined, "undefined"],
      [{}, "object"],
      [[url], "array"],
      [null, "null"],
    ])
      throws(
        () => webSocketTransport(value, sockets),
        TypeError,
        `url must be a string, URL or unused socket, got ${type}`,
      );
  });

  it("throws an error that names a package with a WebSocket class if there is no such class", () => {
    const { WebSocket } = globalThis;
    const text = "WebSocket must be a function, as in `npm install ws`, got";
    try {
      globalThis.WebSocket = undefined;
      throws(() => webSocketTransport(url), TypeError, `${text} undefined`);
    } finally {
      globalThis.WebSocket = WebSocket;
    }
    throws(() => webSocketTransport(url, { WebSocket: {} }), TypeError, `${text} object`);
  });

  it("ends if the option WebSocket is a function that is not a constructor", async () => {
    const { peer, transport } = connectTo(url, { WebSocket: () => ({}) });
    const error = await rejection(peer.request("echo", [], { timeout: 0 }));
    assert.deepEqual([error.reason, transport.state], ["peer-gone", "closed"]);
    assert.include(error.message, "constructor");
    peer.destroy();
  });

  it("accepts a bound function, which has no `prototype`, as the option WebSocket", async () => {
    const server = await startServer();
    const BaseSocket = sockets.WebSocket ?? WebSocket;
    function createSocket(...args) {
      return new BaseSocket(...args);
    }
    const BoundSocket = createSocket.bind(undefined);
    assert.notProperty(BoundSocket, "prototype");
    const { peer } = connectTo(server.url, { WebSocket: BoundSocket });
    assert.deepEqual(await peer.request("echo", ["bound"]), ["bound"]);
  });

  it("ends with an error that names the package if the class makes objects without addEventListener", async () => {
    class NoEvents {
      send() {}
      close() {}
    }
    const { peer, transport, named } = connectTo(() => url, { WebSocket: NoEvents });
    const error = await rejection(peer.request("echo", [], { timeout: 0 }));
    const text = "WebSocket.addEventListener must be a function, as in `npm install ws`, got undefined";
    assert.equal(error.reason, "peer-gone");
    assert.include(error.message, text);
    assert.deepEqual([transport.state, named("onEnd").length, named("onRetry").length], ["closed", 1, 0]);
    peer.destroy();
  });

  it("accepts an object with the URL in `href`, such as `location`", async () => {
    const server = await startServer();
    const { peer } = connectTo({ href: server.url });
    assert.deepEqual(await peer.request("echo", ["href"]), ["href"]);
  });

  it("sends an array among the first messages as one batch", async () => {
    const server = await startServer();
    const one = { jsonrpc: "2.0", method: "one" };
    const { peer } = connectTo(server.url, { first: ['{"text":1}', [one, one]] });
    await peer.request("echo", []);
    const [{ received }] = await server.log();
    assert.deepEqual(received.slice(0, 2), ['{"text":1}', JSON.stringify([one, one])]);
  });

  it("rejects a call whose option idempotent is not a boolean", async () => {
    const server = await startServer();
    const { peer, session } = connectTo(server.url);
    await session();
    for (const [idempotent, type] of [
      ["yes", "string"],
      [1, "number"],
      [null, "null"],
    ]) {
      const error = await rejection(peer.request("echo", [], { idempotent }));
      assert.instanceOf(error, TypeError);
      assert.equal(error.message, `idempotent must be true or false, got ${type}`);
    }
    assert.deepEqual(await peer.request("echo", [1], { idempotent: false }), [1]);
    assert.equal(peer.pending, 0);
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
      // Timers of earlier tests may be among them.
      assert.isAtMost(timers, 10);
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

describe("webSocketTransport with functions of the application", () => {
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
    it(`reports an error, and uses the delay without jitter, if \`jitter\` ${what}`, async () => {
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

  it("reports errors, and makes further attempts, if `jitter` or `shouldReconnect` returns a promise that rejects", async () => {
    const server = await startServer();
    await server.set({ upgrades: "503" });
    const reject = async () => {
      throw new Error("no luck");
    };
    const ms = "a number of milliseconds, at least 0";
    const functions = [
      [{ reconnect: { base: 1, cap: 1, jitter: reject } }, `the result of reconnect.jitter must be ${ms}, got promise`],
      [{ shouldReconnect: reject }, "the result of shouldReconnect must be true, false or undefined, got promise"],
    ];
    for (const [options, text] of functions) {
      const { named, errors, peer } = connectTo(server.url, options);
      await until(() => named("onRetry").length >= 2 && errors.length >= 4);
      peer.destroy();
      const messages = new Set(errors.map(({ message }) => message));
      assert.sameMembers([...messages], [text, "no luck"]);
    }
  });

  it("makes further attempts if `url` rejects with any value", async () => {
    const values = [Symbol("s"), Object.create(null), null, undefined, 5, { message: Symbol("t") }];
    const server = await startServer();
    for (const value of values) {
      let calls = 0;
      const url = () => (++calls > 2 ? server.url : Promise.reject(value));
      const { peer, named, transport } = connectTo(url);
      assert.deepEqual(await peer.request("echo", [1]), [1], String(typeof value));
      assert.equal(named("onRetry")[0].cause, value);
      transport.close();
    }
  });

  it("makes further attempts, and calls the function for each attempt, if `url` or `protocols` returns an invalid value", async () => {
    const server = await startServer();
    let calls = 0;
    const wrongUrl = connectTo(() => (++calls > 2 ? server.url : "ws://ada:secret@["));
    assert.deepEqual(await wrongUrl.peer.request("echo", [1]), [1]);
    let names = 0;
    const wrongProtocol = connectTo(server.url, { protocols: () => (++names > 2 ? [] : ["no space"]) });
    assert.deepEqual(await wrongProtocol.peer.request("echo", [2]), [2]);
    for (const { named } of [wrongUrl, wrongProtocol]) {
      assert.lengthOf(named("onRetry"), 2);
      assert.instanceOf(named("onRetry")[0].cause, Error);
      assert.notInclude(named("onRetry")[0].reason, "secret");
    }
  });

  it("makes only one attempt if the URL is an invalid string, even if `first` is a function", async () => {
    const { peer, named } = connectTo("ws://[", { first: () => [] });
    assert.equal((await rejection(peer.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
    assert.lengthOf(named("onRetry"), 0);
  });

  it("reports an error, and decides by the close code, if `shouldReconnect` returns a string", async () => {
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

  it("makes no further attempt if `jitter` closes the transport", async () => {
    const options = { reconnect: { jitter: () => (transport.close(), 0) } };
    const { peer, transport, named } = connectTo(url, options);
    assert.equal((await rejection(peer.request("echo", [], { timeout: 0 }))).reason, "peer-gone");
    assert.equal(transport.state, "closed");
    assert.equal(named("onRetry").length, 0);
  });

  const results = [
    ["url", undefined, "url must be a string, URL or unused socket, got undefined"],
    ["url", () => "", "url must be a string, URL or unused socket, got function"],
    ["protocols", 5, "protocols must be one or more strings, got number"],
    ["protocols", {}, "protocols must be one or more strings, got object"],
    ["first", 5, "first must be a string, an object or an array, got number"],
    ["first", [{ n: 1n }], "BigInt"],
  ];
  for (const [name, result, text] of results)
    it(`makes further attempts if the result of \`${name}\` causes an error with the text: ${text}`, async () => {
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
    throws(() => new ReconnectPolicy(null), TypeError, "reconnect must be false or an object, got null");
    throws(() => new ReconnectPolicy(5), TypeError, "reconnect must be false or an object, got number");
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
  it("throws an error that names the argument if an argument is wrong", () => {
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
      [[client, { ...options, unsubscribe: noop }], "unsubscribe must be a string, got function"],
      [[client, { ...options, signal: {} }], "signal.addEventListener must be a function, got undefined"],
      [
        [client, { ...options, signal: { addEventListener: noop } }],
        "signal.removeEventListener must be a function, got undefined",
      ],
      [[client, { ...options, signal: 5 }], "signal must be an object, got number"],
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
