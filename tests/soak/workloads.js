// The workloads: kinds of calls, each with its frequency and its expected outcome. `make` takes the caller and the
// number of the call, and rejects if the call ends with any other outcome.

const TEXT = "portway ".repeat(16_384);
const SMALL = TEXT.slice(0, 100);
const MEDIUM = TEXT.slice(0, 10_000);
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** The timeout of calls that are not meant to time out: the machine may be slow. */
export const TEST_TIMEOUT_MS = 60_000;

function check(condition, text) {
  if (!condition) throw new Error(text);
}

/** Returns the error of a call that has to fail. */
async function failure(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`it resolved, with ${JSON.stringify(value)?.slice(0, 200)}`);
}

async function echoes({ peer }, n, text, options) {
  const result = await peer.request("echo", { n, text }, options);
  check(
    result.n === n && result.text === text,
    `the answer is for ${result.n}, with ${result.text?.length} characters`,
  );
}

function isTheReason(error, signal) {
  check(error === signal.reason, `it failed with ${error}, which is not the reason of the signal`);
}

const workloads = {
  empty: {
    weight: 200,
    numbered: false,
    async make({ peer }) {
      check((await peer.request("empty")) === null, "the answer to an empty call is not null");
    },
  },
  small: { weight: 390, make: (caller, n) => echoes(caller, n, SMALL) },
  medium: { weight: 130, make: (caller, n) => echoes(caller, n, MEDIUM) },
  /** A megabyte now and then. */
  large: {
    weight: 1,
    async make({ peer }, n) {
      const bytes = new Uint8Array(1_000_000).fill(n & 255);
      const result = await peer.request("bytes", { n, bytes });
      check(bytes.length === 1_000_000, "the bytes were not copied");
      check(result.n === n && result.bytes.length === bytes.length, "the answer is another one");
      check(result.bytes[0] === (n & 255) && result.bytes.at(-1) === (n & 255), "the bytes are others");
    },
  },
  /** A signal that many calls share and that is never aborted. */
  watched: { weight: 60, make: (caller, n) => echoes(caller, n, SMALL, { signal: caller.forever.signal }) },
  transferred: {
    weight: 40,
    async make({ peer }, n) {
      const bytes = new Uint8Array(65_536).fill(n & 255);
      const call = peer.request("give", { n, bytes }, { transfer: [bytes.buffer] });
      check(bytes.length === 0, "the bytes were copied, not transferred");
      const result = await call;
      check(result.n === n && result.bytes.length === 65_536 && result.bytes[9] === (n & 255), "the bytes are others");
    },
  },
  thrown: {
    weight: 50,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("fail", { n }));
      check(
        error instanceof portway.RPCError && error.code === -32005 && error.data.n === n,
        `it failed with ${error}`,
      );
    },
  },
  thrownPlainly: {
    weight: 20,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("break", { n }));
      check(error instanceof portway.RPCError && error.code === INTERNAL_ERROR, `it failed with ${error}`);
      check(error.message === `broken ${n}`, `it failed with ${error}`);
    },
  },
  unknown: {
    weight: 10,
    numbered: false,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("unknown", { n }));
      check(error instanceof portway.RPCError && error.code === METHOD_NOT_FOUND, `it failed with ${error}`);
    },
  },
  /** A value that cannot be cloned fails at once and is never sent. */
  uncloneable: {
    weight: 5,
    numbered: false,
    async make({ peer }, n) {
      const error = await failure(peer.request("echo", { n, run() {} }));
      check(error.name === "DataCloneError", `it failed with ${error}`);
    },
  },
  cancelledAtOnce: {
    weight: 15,
    async make({ peer }, n) {
      const controller = new AbortController();
      const call = failure(peer.request("hold", { n }, { signal: controller.signal, timeout: TEST_TIMEOUT_MS }));
      controller.abort(new Error(`call ${n} is not wanted any more`));
      isTheReason(await call, controller.signal);
    },
  },
  cancelledWhileRunning: {
    weight: 15,
    async make({ peer }, n) {
      const controller = new AbortController();
      const onProgress = () => controller.abort(new Error(`call ${n} is not wanted any more`));
      const options = { signal: controller.signal, timeout: TEST_TIMEOUT_MS, onProgress };
      isTheReason(await failure(peer.request("hold", { n }, options)), controller.signal);
    },
  },
  cancelledTogether: {
    weight: 15,
    async make({ peer, group }, n) {
      const { signal } = group;
      isTheReason(await failure(peer.request("hold", { n }, { signal, timeout: TEST_TIMEOUT_MS })), signal);
    },
  },
  /** Answered only once it has timed out: an answer that comes too late. */
  timedOut: {
    weight: 15,
    async make({ peer, portway }, n) {
      const error = await failure(peer.request("hold", { n }, { timeout: 20 + (n % 200) }));
      peer.notify("release", { n });
      check(error instanceof portway.CallError && error.reason === "timeout", `it failed with ${error}`);
    },
  },
  reporting: {
    weight: 25,
    async make({ peer }, n) {
      const received = [];
      const result = await peer.request("report", { n }, { onProgress: (value) => received.push(value) });
      check(result.n === n && received.join() === `${n},${n + 1},${n + 2}`, `the progress of ${n} was ${received}`);
    },
  },
  streamed: {
    weight: 8,
    async make({ peer }, n) {
      let last = n;
      for await (const item of peer.stream("count", { n, steps: 20 }, { window: 4 })) {
        check(item === last + 1, `after ${last} came ${item}`);
        last = item;
      }
      check(last === n + 20, `the last item was ${last}`);
    },
  },
  /** A stream that its consumer closes early. */
  streamLeft: {
    weight: 5,
    async make({ peer }, n) {
      for await (const item of peer.stream("count", { n, steps: Infinity }, { window: 4 })) {
        if (item === n + 5) return;
        check(item > n && item < n + 5, `there came ${item}`);
      }
      throw new Error("the stream has an end");
    },
  },
  /** The handler calls back while its caller waits. */
  nested: {
    weight: 5,
    async make({ peer }, n) {
      const result = await peer.request("callBack", { n });
      check(result.n === n, `the answer is for ${result.n}`);
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
      caller.notes += 2;
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
  numbered: true,
  ...workload,
  name,
  index,
}));

const WEIGHTS = WORKLOADS.flatMap((workload) => Array(workload.weight).fill(workload));

/** Picks a workload by a random number in [0, 1). It is no wider than `room`. */
export function pick(random, room) {
  const workload = WEIGHTS[Math.floor(random * WEIGHTS.length)];
  return workload.width <= room ? workload : WORKLOADS[1];
}
