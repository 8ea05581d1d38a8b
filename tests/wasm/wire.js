// The other side of the tests: by hand, message for message, or the JavaScript API.

import { JSONRPCClient, JSONRPCServer } from "../../src/js/api.js";
import { CallError, RPCError } from "../../src/web/errors.js";
import { portTransport } from "../../src/web/transports.js";

/** A channel, as an array of its two ports. */
export function channel() {
  const { port1, port2 } = new MessageChannel();
  return [port1, port2];
}

/** Reads and writes raw messages. */
export class Wire {
  #port;
  #came = [];
  #wanted = [];

  constructor(port) {
    this.#port = port;
    port.onmessage = ({ data }) => {
      const wanted = this.#wanted.shift();
      if (wanted !== undefined) wanted(data);
      else this.#came.push(data);
    };
  }

  /** The next message, as JSON. */
  async next() {
    const message = this.#came.shift() ?? (await new Promise((resolve) => this.#wanted.push(resolve)));
    return JSON.stringify(message);
  }

  send(json) {
    this.#port.postMessage(JSON.parse(json));
  }
}

/** Two transports that deliver at once, on the stack of the sender. */
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
    get isHeard() {
      return handlers[own] !== undefined;
    },
  }));
}

/** A transport that can send nothing. */
export function broken() {
  return {
    send() {
      throw new RangeError("broken");
    },
    onMessage() {},
  };
}

/** A transport whose other side can be lost. */
export function losable() {
  return {
    send() {},
    onMessage() {},
    onClose(handler) {
      this.lose = handler;
    },
  };
}

/** Arrays in arrays; as a ring, the innermost holds the outermost. */
export function nested(levels, ring) {
  const innermost = [];
  let value = innermost;
  for (let level = 1; level < levels; level++) value = [value];
  if (ring) innermost.push(value);
  return value;
}

/** Values that JSON has no words for. */
export function evaluate(name) {
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

export function lose(transport, reason) {
  transport.lose(new CallError(reason, "lost"));
}

export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A worker that runs this very module, to die there. */
export function mortalWorker() {
  return new Worker(new URL("./mortal.js", import.meta.url), { type: "module" });
}

/** Asks a worker beside the library, and gives the answer as JSON. The worker is done with then. */
export async function ask(worker, question) {
  const answer = new Promise((resolve) => {
    worker.addEventListener("message", ({ data }) => data.jsonrpc === undefined && resolve(JSON.stringify(data)));
  });
  worker.postMessage(question);
  return answer.finally(() => worker.terminate());
}

/** A server of the JavaScript API. */
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

/** A client of the JavaScript API. */
export function connect(port) {
  return new JSONRPCClient(portTransport(port));
}

/** The outcome of a call, as JSON. */
export async function outcome(client, method, json, signal) {
  try {
    const result = await client.request(method, json === undefined ? undefined : JSON.parse(json), { signal });
    return JSON.stringify({ result });
  } catch (error) {
    return JSON.stringify({ name: error.name, code: error.code, message: error.message, data: error.data });
  }
}

/** The outcome of a call that is given up after a while. */
export async function cancelledOutcome(client, method, ms) {
  return outcome(client, method, undefined, AbortSignal.timeout(ms));
}

/** The progress that a call makes, as JSON. */
export async function progressOf(client, method) {
  const values = [];
  await client.request(method, undefined, { onProgress: (value) => values.push(value) });
  return JSON.stringify(values);
}
