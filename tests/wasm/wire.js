// The JavaScript part of `wire.rs`. The code under test is in Rust. Its peer is either the test, which reads and writes
// raw messages, or a client or server of the JavaScript API.

// The test runner writes this module. It exports the JavaScript API.
import { CallError, JSONRPCClient, JSONRPCServer, RPCError, portTransport } from "../../../../wasm-bindgen-test.js";

/** Returns the two ports of a new channel. */
export function channel() {
  const { port1, port2 } = new MessageChannel();
  return [port1, port2];
}

/** The end of a channel on which a test reads and writes raw messages. */
export class Wire {
  #port;
  #received = [];
  #waiting = [];

  constructor(port) {
    this.#port = port;
    port.onmessage = ({ data }) => {
      const resolve = this.#waiting.shift();
      if (resolve !== undefined) resolve(data);
      else this.#received.push(data);
    };
  }

  /** Resolves to the next message as JSON. */
  async next() {
    const message = this.#received.shift() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
    return JSON.stringify(message);
  }

  send(json) {
    this.#port.postMessage(JSON.parse(json));
  }

  /** Sends a message in which `value` replaces the string "?". */
  sendWith(json, value) {
    const insert = (part) => {
      if (part === "?") return value;
      if (typeof part === "object" && part !== null) for (const key of Object.keys(part)) part[key] = insert(part[key]);
      return part;
    };
    this.#port.postMessage(insert(JSON.parse(json)));
  }
}

/** Returns two transports that deliver each message at once, on the stack of the sender. */
export function loopback() {
  const handlers = [];
  return [0, 1].map((own) => ({
    send: (message) => handlers[1 - own]?.(message),
    onMessage(handler) {
      handlers[own] = handler;
    },
    destroy() {
      handlers[own] = undefined;
    },
    get hasHandler() {
      return handlers[own] !== undefined;
    },
  }));
}

/** Returns a transport whose `send` throws. */
export function broken() {
  return {
    send() {
      throw new RangeError("broken");
    },
    onMessage() {},
  };
}

/** Returns a transport on which `lose` reports the loss of the peer. */
export function losable() {
  return {
    send() {},
    onMessage() {},
    onClose(handler) {
      this.lose = handler;
    },
  };
}

/** Returns nested arrays. If `ring` is true, the innermost array contains the outermost array. */
export function nested(levels, ring) {
  const innermost = [];
  let value = innermost;
  for (let level = 1; level < levels; level++) value = [value];
  if (ring) innermost.push(value);
  return value;
}

/** Returns params with the special value of this name. */
export function specialParams(name) {
  const values = {
    beyond: 2 ** 53,
    safe: 2 ** 53 - 1,
    big: 2n ** 63n - 1n,
    bigger: 2n ** 64n,
    nan: NaN,
    negativeZero: -0,
    fraction: 1.5,
    undefined,
  };
  return [values[name]];
}

/**
 * Returns a lattice: each level contains the next level twice. So n levels are n objects, but a reader visits 2^n
 * values. `join` returns an object with two members. Without arguments, it returns the innermost value.
 */
function lattice(levels, join) {
  let value = join();
  for (let level = 0; level < levels; level++) value = join(value, value);
  return value;
}

/** When WebKit clones an array, it visits each index. So in WebKit, the array of the tests must have fewer holes. */
const isWebKit = !navigator.userAgent.includes("Chrome") && navigator.userAgent.includes("AppleWebKit");
const MANY_HOLES = isWebKit ? 3e6 : 4e9;

/** Returns an array that consists of holes. */
function holes(length) {
  const array = [];
  array.length = length;
  return array;
}

const COSTLY = {
  "a string in an object": () => new String("x".repeat(4_000_000)),
  holes: () => holes(MANY_HOLES),
  "holes in an array": () => [holes(600_000), holes(600_000)],
  "a lattice of arrays": () => lattice(40, (...parts) => parts),
  "a lattice of objects": () => lattice(40, (a = 1, b = 1) => ({ a, b })),
  "a lattice of maps": () =>
    lattice(
      40,
      (a, b) =>
        new Map([
          [1, a],
          [2, b],
        ]),
    ),
  "a lattice of sets": () => lattice(40, (a, b) => new Set([a, [b]])),
  "a lattice in members of arrays": () => lattice(40, (a, b) => Object.assign([], { children: [a, b] })),
  "a lattice of strings": () => lattice(12, (...parts) => (parts.length === 0 ? ["x".repeat(10_000)] : parts)),
  "a large set": () => new Set(Array.from({ length: 1_000_001 }, (_, n) => n)),
  "a large map": () => new Map(Array.from({ length: 500_001 }, (_, n) => [n, n])),
  "an object of many members": () => Object.fromEntries(Array.from({ length: 500_001 }, (_, n) => [`m${n}`, n])),
};

/** Returns the names of values that are sent quickly, but whose conversion would take more than a million visits. */
export function costlyNames() {
  return Object.keys(COSTLY);
}

/** Returns the costly value of this name. */
export function costly(name) {
  return COSTLY[name]();
}

/** Returns the large value of this name. It is a single string or buffer, so only copying it to wasm is costly. */
export function large(name) {
  switch (name) {
    case "string":
      return "x".repeat(20_000_000);
    case "bytes":
      return new Uint8Array(20_000_000);
    case "buffer":
      return new ArrayBuffer(20_000_000);
    case "floats":
      return new Float64Array(1_000_001);
  }
}

/** Returns an object that throws when it is read, or that changes while it is read. */
export function unsteady(name) {
  const thrower = () => {
    throw new Error("it throws");
  };
  const handler = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((trap) => [trap, thrower]));
  let reads = 0;
  switch (name) {
    case "getter":
      return {
        get children() {
          return thrower();
        },
      };
    case "getter that throws later":
      return {
        get children() {
          return reads++ === 0 ? [] : thrower();
        },
      };
    case "getter that throws null":
      return {
        get children() {
          throw null;
        },
      };
    case "element that throws":
      return { children: Object.defineProperty([1], 0, { get: thrower, enumerable: true }) };
    case "iterator":
      return { children: { [Symbol.iterator]: thrower } };
    case "iterator without an end":
      return {
        children: {
          *[Symbol.iterator]() {
            for (;;) yield {};
          },
        },
      };
    case "proxy":
      return { children: new Proxy([], handler) };
    case "proxy of an object":
      return new Proxy({}, handler);
    case "revoked proxy": {
      const { proxy, revoke } = Proxy.revocable([], {});
      revoke();
      return { children: proxy };
    }
    case "array that grows": {
      const array = [];
      // The first read of the length returns 0. Later reads return a length that exceeds the memory.
      return {
        children: new Proxy(array, { get: (_, key) => (key === "length" ? (reads++ === 0 ? 0 : 4e9) : array[key]) }),
      };
    }
    case "object that deepens":
      return {
        get children() {
          return reads++ === 0 ? [] : [unsteady("tree without an end")];
        },
      };
    case "tree without an end":
      return {
        get children() {
          return [unsteady("tree without an end")];
        },
      };
  }
}

/** Returns values of all kinds that structured clone supports, and of some kinds that it does not support. */
export function kinds() {
  const image = typeof ImageData === "undefined" ? {} : new ImageData(2, 1);
  return [
    undefined,
    null,
    true,
    false,
    0,
    -0,
    1,
    255,
    256,
    -1,
    1.5,
    2 ** 31,
    2 ** 53 - 1,
    2 ** 53,
    1e300,
    Infinity,
    NaN,
    0n,
    1n,
    -1n,
    2n ** 63n,
    2n ** 64n - 1n,
    2n ** 64n,
    -(2n ** 63n),
    2n ** 127n,
    2n ** 128n,
    "",
    "a",
    "ab",
    "é",
    "𝒳",
    "A",
    "B",
    "x".repeat(1000),
    [],
    [1],
    [1, 2],
    [1, "a"],
    [
      [1, 2],
      [3, 4],
    ],
    [, 1],
    [null],
    ["a", "b"],
    [
      ["a", 1],
      ["b", 2],
    ],
    {},
    { a: 1 },
    { a: 1, b: "x" },
    { a: 1, b: null },
    { a: undefined },
    { A: null },
    { B: 1 },
    { C: [1, 2] },
    { D: { a: 1, b: "y" } },
    { A: 1, B: 2 },
    { t: "B", a: 1 },
    { t: "A" },
    { t: "?" },
    { a: 1, extra: 2 },
    { a: 1, b: "x", more: { a: 1 } },
    { 1: 2, 3: 4 },
    new Map(),
    new Map([["a", 1]]),
    new Map([[1, 2]]),
    new Map([
      ["a", 1],
      ["b", "x"],
    ]),
    new Set(),
    new Set([1, 2]),
    new Set([["a", 1]]),
    new Uint8Array([1, 2]),
    new Uint8Array(new ArrayBuffer(8), 2, 3),
    new Uint8ClampedArray([1]),
    new Int8Array([-1]),
    new Float64Array([1, 1.5]),
    new BigInt64Array([1n]),
    new Uint16Array([1, 65_535]),
    new DataView(new ArrayBuffer(2)),
    new Date(0),
    /a/g,
    new Error("e"),
    new String("ab"),
    new Number(1),
    new Boolean(true),
    image,
    Object.assign([1], { a: 1, b: "x" }),
    () => {},
    Symbol("s"),
  ];
}

/**
 * Makes three requests, with the params `[0]`, `[value]` and `[1]`. The requests are sent together, as columns if
 * possible. Resolves to their outcomes as JSON.
 */
export async function together(port, method, value) {
  const client = new JSONRPCClient(portTransport(port), { coalesce: "columns" });
  const outcomes = [[0], [value], [1]].map((params) =>
    client.request(method, params).then(
      () => "read",
      ({ data }) => data,
    ),
  );
  return JSON.stringify(await Promise.all(outcomes));
}

export function lose(transport, reason) {
  transport.lose(new CallError(reason, "lost"));
}

export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns a worker that runs the wasm module of the tests and traps on request. */
export function crashingWorker() {
  return new Worker(new URL("./crashing_worker.js", import.meta.url), { type: "module" });
}

/** Posts a question to a worker, without the library. Resolves to the answer as JSON. Then terminates the worker. */
export async function ask(worker, question) {
  const answer = new Promise((resolve) => {
    worker.addEventListener("message", ({ data }) => data.jsonrpc === undefined && resolve(JSON.stringify(data)));
  });
  worker.postMessage(question);
  return answer.finally(() => worker.terminate());
}

/** Returns a server of the JavaScript API. */
export function serve(port) {
  const server = new JSONRPCServer(portTransport(port));
  const cancelled = [];
  server
    .method("add", ({ a, b }) => a + b)
    .method("echo", (params) => params)
    .method("fail", () => {
      throw new RPCError(-32001, "BUILD_FAILED", { line: 7 });
    })
    .method("failAsLibrariesDo", () => {
      const cause = Object.assign(new Error("no such file"), { code: "ENOENT", errno: -2, path: "/home/s3cret" });
      const config = { headers: { Authorization: "Bearer s3cret" } };
      const name = "AxiosError";
      throw Object.assign(new Error("Request failed", { cause }), { name, code: "ERR_BAD_REQUEST", config });
    })
    .method("size", (buffer) => buffer.bytes.byteLength)
    .method("count", async (_, context) => {
      for (const value of [1, 2, 3]) context.progress(value);
      return "done";
    })
    .method("cancelled", () => cancelled)
    .method("numbers", async function* ([end], { method, signal }) {
      signal.addEventListener("abort", () => cancelled.push(method));
      for (let n = 0; n < end; n++) yield n;
    })
    .method("badNumbers", async function* () {
      yield 1;
      throw new RPCError(-32001, "no more");
    })
    .method("wait", (_, { method, signal }) => {
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          cancelled.push(method);
          reject(signal.reason);
        });
      });
    });
  return server;
}

/** Returns a client of the JavaScript API. */
export function connect(port) {
  return new JSONRPCClient(portTransport(port));
}

/** Resolves to the outcome of a call as JSON. */
export async function outcome(client, method, json, signal) {
  try {
    const result = await client.request(method, json === undefined ? undefined : JSON.parse(json), { signal });
    return JSON.stringify({ result });
  } catch (error) {
    return JSON.stringify({ name: error.name, code: error.code, message: error.message, data: error.data });
  }
}

/** Resolves to the outcome of a call that is cancelled after `ms` milliseconds. */
export async function cancelledOutcome(client, method, ms) {
  return outcome(client, method, undefined, AbortSignal.timeout(ms));
}

/** Resolves to the progress values of a call as JSON. */
export async function progressOf(client, method) {
  const values = [];
  await client.request(method, undefined, { onProgress: (value) => values.push(value) });
  return JSON.stringify(values);
}
