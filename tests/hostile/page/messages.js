// Defines the messages of each kind, for a document that acts as the peer. This file is a classic script, so its
// definitions are global.

const many = (count, make) => Array.from({ length: count }, (_, n) => make(n));
const columns = (rest) => message({ method: "rpc.columns", params: rest });
const nested = (levels, inner) => {
  let value = inner;
  for (let n = 0; n < levels; n++) value = [value];
  return value;
};

/** The length of an array of holes. It is small for WebKit, which visits each index of an array that it clones. */
const HOLES = /AppleWebKit(?!.*Chrome)/.test(navigator.userAgent) ? 1_000 : 4_000_000_000;

/** Each function returns the messages of one kind. `postKind` posts them without a pause. */
globalThis.kinds = {
  unknown: () => [message({ id: 1, method: "no such method" })],
  params: () => [message({ id: 1, method: "swallow", params: { text: "x".repeat(900_000) } })],
  longName: () => [message({ id: 1, method: "x".repeat(900_000) })],
  longId: () => [message({ id: "x".repeat(900_000), method: "swallow" })],
  list: () => [many(256, (id) => message({ id, method: "no such method" }))],
  batch: () => [many(1_000, (id) => message({ id, method: "no such method" }))],
  longBatch: () => [many(10_000, (id) => message({ id, method: "no such method" }))],
  aliases: () => [Array(100_000).fill(message({ id: 1, method: "no such method" }))],
  aliasesLongId: () => [Array(1_000).fill(message({ id: "x".repeat(1_000), method: "no such method" }))],
  aliasesBroken: () => [Array(1_000).fill(message({ method: 5 }))],
  columns: () => [
    columns({ ids: many(256, (n) => n), methods: "swallow", values: Array(256).fill({ text: "x".repeat(2_000) }) }),
  ],
  columnsName: () => [columns({ ids: many(256, (n) => n), methods: "x".repeat(300_000), values: Array(256).fill([]) })],
  streams: () => [
    columns({
      ids: many(256, (n) => n),
      methods: "rpc.stream",
      values: Array(256).fill({ method: "ticks", credit: 65_536 }),
    }),
  ],
  progress: () => [
    columns({ methods: "$/progress", values: many(256, (token) => ({ token, value: "x".repeat(1_000) })) }),
  ],
  cancels: () => [columns({ methods: "$/cancelRequest", values: many(256, (id) => ({ id })) })],
  items: () => [
    columns({ methods: "rpc.item", values: many(256, (id) => ({ id, value: "x".repeat(1_000) })) }),
    columns({ methods: "rpc.credit", values: many(256, (id) => ({ id, count: 65_536 })) }),
  ],
  answers: () => [many(10_000, (n) => message({ id: n + 1e6, result: n }))],
  errors: () => [
    many(256, (n) => message({ id: n + 1e6, error: { code: 1, message: "x".repeat(1_000), data: { n } } })),
  ],
  holes: () => {
    const holes = [];
    holes.length = HOLES;
    return [
      holes,
      [holes],
      message({ id: 1, method: "no such method", params: [holes] }),
      message({ id: 2, method: "swallow", params: holes }),
    ];
  },
  lattice: () => {
    let lattice = [];
    for (let n = 0; n < 40; n++) lattice = [lattice, lattice];
    return [
      message({ id: 1, method: "swallow", params: lattice }),
      message({ id: 2, method: "no such method", params: lattice }),
    ];
  },
  deep: () => [message({ id: 1, method: "swallow", params: nested(500, "x".repeat(900_000)) })],
  garbage: () =>
    many(
      1_000,
      (n) =>
        [
          null,
          n,
          "text",
          [],
          [[]],
          {},
          { jsonrpc: "1.0", id: n, method: "swallow" },
          new Map([["jsonrpc", "2.0"]]),
          new Date(0),
          new Uint8Array(10),
        ][n % 10],
    ),
  malformed: () => [
    many(256, (n) =>
      message(
        [
          { id: {}, method: "a" },
          { id: n },
          { id: n, method: 5 },
          { id: n, method: "a", params: 5 },
          { id: true, method: "" },
          {},
          { id: n, result: 1, error: 5 },
        ][n % 7],
      ),
    ),
  ],
  handshake: () => [
    many(
      256,
      (n) =>
        [
          message({ id: randomId(), method: "rpc.hello", params: { version: 1, channel: "", features: [] } }),
          message({ id: randomId(), result: { session: randomId(), version: 1, features: [] } }),
          message({ method: "rpc.ping" }),
          message({ method: "rpc.key", params: { key: "x".repeat(1_000) } }),
        ][n % 4],
    ),
  ],
};

/** Returns the bytes of a value. A repeated object counts as a reference, as in a structured clone. */
globalThis.sizeOf = (value, seen = new Set()) => {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  if (seen.has(value)) return 4;
  seen.add(value);
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let sum = 8;
  // `Object.keys` omits the holes of an array.
  for (const key of Object.keys(value)) sum += (Array.isArray(value) ? 0 : key.length) + 2 + sizeOf(value[key], seen);
  return sum;
};

/** Answers pings in the session, and counts the bytes of all messages that the host sends. */
globalThis.countBack = () => {
  globalThis.bytesBack = 0;
  session.port.onmessage = ({ data }) => {
    bytesBack += sizeOf(data);
    for (const one of [data].flat()) {
      if (one.method === "rpc.ping") session.port.postMessage(message({ method: "rpc.pong" }));
      if (one.id === "last") globalThis.onLast?.();
    }
  };
};

/**
 * Posts the messages of a kind over the session. After the host has handled all messages, resolves to their bytes and
 * to the bytes that the host has sent.
 */
globalThis.postKind = async (kind) => {
  const messages = kinds[kind]();
  const bytesIn = messages.reduce((sum, one) => sum + sizeOf(one), 0);
  bytesBack = 0;
  const last = new Promise((resolve) => (globalThis.onLast = resolve));
  for (const one of messages) session.port.postMessage(one);
  session.port.postMessage(message({ id: "last", method: "no such method" }));
  await last;
  return { bytesIn, bytesOut: bytesBack };
};

/** Posts the messages of a kind to a port whose listener only reads them. */
globalThis.postBare = (kind, port) => {
  for (const one of kinds[kind]()) port.postMessage(one);
  port.postMessage("last");
};
