// A workload is a kind of call with an expected outcome. `weight` is its relative frequency, and `width` is the number
// of calls that `make` makes. `make(caller, number)` rejects if a call has an unexpected outcome. `isNumbered` is false
// if no handler at the peer records the number of the call.

const TEXT = "portway ".repeat(16_384);
const SMALL = TEXT.slice(0, 100);
const MEDIUM = TEXT.slice(0, 10_000);
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** The timeout in milliseconds of calls that must not time out, even on a slow machine. */
export const TEST_TIMEOUT_MS = 60_000;

function check(condition, text) {
  if (!condition) throw new Error(text);
}

/** Returns the error of a call that must fail. */
async function failure(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`the call must fail, but it resolved with ${JSON.stringify(value)?.slice(0, 200)}`);
}

async function makeEcho({ peer }, n, text, options) {
  const result = await peer.request("echo", { n, text }, options);
  check(
    result.n === n && result.text === text,
    `the result is for call ${result.n}, with ${result.text?.length} characters`,
  );
}

function checkReason(error, signal) {
  check(error === signal.reason, `the call must fail with the reason of the signal, but failed with ${error}`);
}

const workloads = {
  empty: {
    weight: 200,
    isNumbered: false,
    async make({ peer }) {
      check((await peer.request("empty")) === null, "the result of an empty call must be null");
    },
  },
  small: { weight: 390, make: (caller, n) => makeEcho(caller, n, SMALL) },
  medium: { weight: 130, make: (caller, n) => makeEcho(caller, n, MEDIUM) },
  /** A rare call with a megabyte. */
  large: {
    weight: 1,
    async make({ peer }, n) {
      const bytes = new Uint8Array(1_000_000).fill(n & 255);
      const result = await peer.request("bytes", { n, bytes });
      check(bytes.length === 1_000_000, "the bytes must be copied");
      check(result.n === n && result.bytes.length === bytes.length, "the result is for another call");
      check(result.bytes[0] === (n & 255) && result.bytes.at(-1) === (n & 255), "the bytes differ");
    },
  },
  /** All calls of this workload share a signal that is never aborted. */
  watched: { weight: 60, make: (caller, n) => makeEcho(caller, n, SMALL, { signal: caller.neverAborted.signal }) },
  transferred: {
    weight: 40,
    async make({ peer }, n) {
      const bytes = new Uint8Array(65_536).fill(n & 255);
      const call = peer.request("transferBack", { n, bytes }, { transfer: [bytes.buffer] });
      check(bytes.length === 0, "the bytes must be transferred");
      const result = await call;
      check(result.n === n && result.bytes.length === 65_536 && result.bytes[9] === (n & 255), "the bytes differ");
    },
  },
  thrown: {
    weight: 50,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("fail", { n }));
      check(
        error instanceof portway.RPCError && error.code === -32005 && error.data.n === n,
        `the call failed with ${error}`,
      );
    },
  },
  thrownPlainly: {
    weight: 20,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("throwTypeError", { n }));
      check(error instanceof portway.RPCError && error.code === INTERNAL_ERROR, `the call failed with ${error}`);
      check(error.message === `broken ${n}`, `the call failed with ${error}`);
    },
  },
  unknown: {
    weight: 10,
    isNumbered: false,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("unknown", { n }));
      check(error instanceof portway.RPCError && error.code === METHOD_NOT_FOUND, `the call failed with ${error}`);
    },
  },
  /** A call with a value that cannot be cloned fails at once and is never sent. */
  uncloneable: {
    weight: 5,
    isNumbered: false,
    async make({ peer }, n) {
      const error = await failure(peer.request("echo", { n, run() {} }));
      check(error.name === "DataCloneError", `the call failed with ${error}`);
    },
  },
  cancelledAtOnce: {
    weight: 15,
    async make({ peer }, n) {
      const controller = new AbortController();
      const call = failure(peer.request("hold", { n }, { signal: controller.signal, timeout: TEST_TIMEOUT_MS }));
      controller.abort(new Error(`call ${n} is not wanted any more`));
      checkReason(await call, controller.signal);
    },
  },
  cancelledWhileRunning: {
    weight: 15,
    async make({ peer }, n) {
      const controller = new AbortController();
      const onProgress = () => controller.abort(new Error(`call ${n} is not wanted any more`));
      const options = { signal: controller.signal, timeout: TEST_TIMEOUT_MS, onProgress };
      checkReason(await failure(peer.request("hold", { n }, options)), controller.signal);
    },
  },
  cancelledTogether: {
    weight: 15,
    async make({ peer, burstAbort }, n) {
      const { signal } = burstAbort;
      checkReason(await failure(peer.request("hold", { n }, { signal, timeout: TEST_TIMEOUT_MS })), signal);
    },
  },
  /** The handler responds only after the call has timed out. So the response is late. */
  timedOut: {
    weight: 15,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("hold", { n }, { timeout: 20 + (n % 200) }));
      peer.notify("release", { n });
      check(error instanceof portway.CallError && error.reason === "timeout", `the call failed with ${error}`);
    },
  },
  reporting: {
    weight: 25,
    async make({ peer }, n) {
      const received = [];
      const result = await peer.request("reportProgress", { n }, { onProgress: (value) => received.push(value) });
      check(result.n === n && received.join() === `${n},${n + 1},${n + 2}`, `the progress of ${n} was ${received}`);
    },
  },
  streamed: {
    weight: 8,
    async make({ peer }, n) {
      let last = n;
      for await (const item of peer.stream("count", { n, steps: 20 }, { window: 4 })) {
        check(item === last + 1, `the item after ${last} is ${item}`);
        last = item;
      }
      check(last === n + 20, `the last item was ${last}`);
    },
  },
  /** A stream that its consumer closes before its end. */
  streamLeft: {
    weight: 5,
    async make({ peer }, n) {
      for await (const item of peer.stream("count", { n, steps: Infinity }, { window: 4 })) {
        if (item === n + 5) return;
        check(item > n && item < n + 5, `the stream has the item ${item}`);
      }
      throw new Error("the stream must not end");
    },
  },
  /** The handler calls the caller before it responds. */
  nested: {
    weight: 5,
    async make({ peer }, n) {
      const result = await peer.request("callBack", { n });
      check(result.n === n, `the result is for call ${result.n}`);
    },
  },
  batched: {
    weight: 4,
    width: 8,
    async make(caller, n) {
      const calls = Array.from({ length: this.width }, (_, i) => ({
        method: i % 4 === 3 ? "fail" : "echo",
        params: { n: n + i, text: SMALL },
      }));
      const note = { method: "note", notify: true };
      caller.notificationCount += 2;
      const outcomes = await caller.peer.batch([note, ...calls, note], { timeout: TEST_TIMEOUT_MS });
      check(outcomes.length === this.width + 2, `the batch has ${outcomes.length} outcomes`);
      for (const [i, { status, value, reason }] of outcomes.slice(1, -1).entries()) {
        const wanted = i % 4 === 3 ? reason?.data?.n : value?.n;
        check((status === "rejected") === (i % 4 === 3) && wanted === n + i, `member ${i} ${status}: ${reason}`);
      }
    },
  },
};

/** All workloads, each with its name and its index in this list. */
export const WORKLOADS = Object.entries(workloads).map(([name, workload], index) => ({
  width: 1,
  isNumbered: true,
  ...workload,
  name,
  index,
}));

const WEIGHTS = WORKLOADS.flatMap((workload) => Array(workload.weight).fill(workload));

/**
 * Returns the workload for a random number in [0, 1). If this workload makes more than `room` calls, returns the
 * workload `small`.
 */
export function pick(random, room) {
  const workload = WEIGHTS[Math.floor(random * WEIGHTS.length)];
  return workload.width <= room ? workload : WORKLOADS[1];
}
