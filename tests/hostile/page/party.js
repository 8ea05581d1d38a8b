// The script of a document that a test controls over a port. The document records all other messages, and can act as a
// peer of the library.

/** The first messages that arrived in this window, or over a port that was transferred to this window. */
globalThis.received = [];
/** The number of all received messages. Only the first `MAX_KEPT` of them are in `received`. */
globalThis.receivedCount = 0;

const MAX_KEPT = 1_000;

/** Counts a received message, and adds the message to `received` if there is room. */
globalThis.keep = (data) => {
  receivedCount++;
  if (received.length < MAX_KEPT) received.push(data);
  globalThis.onReceived?.(data);
};

addEventListener("message", ({ data, ports }) => {
  if (data?.type === "control port") return obey(ports[0]);
  keep(data);
});

/** Runs each function that arrives over a port as text, with its arguments, and posts its result. */
function obey(port) {
  port.onmessage = async ({ data: { id, code, args }, ports }) => {
    try {
      port.postMessage({ id, result: await (0, eval)(`(${code})`)(...args, ...ports) });
    } catch (error) {
      port.postMessage({ id, error: `${error?.message ?? error}` });
    }
  };
}

globalThis.message = (rest) => ({ jsonrpc: "2.0", ...rest });
globalThis.hexId = (digit) => String(digit).repeat(32);
globalThis.randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Acts as the peer in a session over a port: records the messages, and answers pings unless `isSilent` is set. */
globalThis.actAsPeerOver = (port) => {
  const session = { port, received: [], isSilent: false };
  port.onmessage = ({ data }) => {
    if (session.received.length < MAX_KEPT) session.received.push(data);
    for (const one of [data].flat())
      if (one.method === "rpc.ping" && !session.isSilent) port.postMessage(message({ method: "rpc.pong" }));
  };
  port.postMessage(message({ method: "rpc.ping" }));
  globalThis.session = session;
  return session;
};

/** Resolves to the next hello of `target`, and the origin of this hello. */
globalThis.nextHello = (target) =>
  new Promise((resolve) => {
    addEventListener("message", function take({ data, source, origin }) {
      if (source !== target || data?.method !== "rpc.hello") return;
      removeEventListener("message", take);
      resolve({ hello: data, origin });
    });
  });

/** Answers the next hello of `target`, and acts as the peer in the new session. Resolves to the hello. */
globalThis.answerHello = async (target, result = {}) => {
  const { hello, origin } = await nextHello(target);
  const { port1, port2 } = new MessageChannel();
  const features = ["batch", "cancel", "columns", "progress", "stream"];
  const answer = { session: hexId(0), version: 1, features, port: port2 };
  target.postMessage(message({ id: hello.id, result: { ...result, ...answer } }), origin, [port2]);
  actAsPeerOver(port1);
  return hello;
};

/**
 * Repeats a hello until `target` answers, and acts as the peer in the new session. If both peers send a hello, the
 * hello with the lesser id is answered. So the default id begins with zeros.
 */
globalThis.sendHello = (target, id = `${"0".repeat(16)}${randomId().slice(16)}`) =>
  new Promise((resolve) => {
    const features = ["batch", "cancel", "columns", "progress", "stream"];
    const post = () =>
      target.postMessage(message({ id, method: "rpc.hello", params: { version: 1, channel: "", features } }), "*");
    const timer = setInterval(post, 30);
    post();
    addEventListener("message", function take({ data, source }) {
      if (source !== target || data?.id !== id || data.result === undefined) return;
      removeEventListener("message", take);
      clearInterval(timer);
      actAsPeerOver(data.result.port);
      resolve();
    });
  });

/**
 * Posts forged messages of every kind to a window. The forged messages contain no secret of the session. Records the
 * messages that arrive over the ports of forged responses. Returns the number of posted messages.
 */
globalThis.forge = (target, overheard = []) => {
  const id = randomId;
  const features = ["batch", "cancel", "columns", "lane", "progress", "stream"];
  const ids = [id(), hexId("0"), hexId("f"), ...overheard];
  const notes = ["rpc.ping", "rpc.pong", "rpc.lock", "rpc.load"].map((method) => message({ method }));
  for (const key of [...ids, undefined]) {
    for (const reason of ["closed", "left", "replaced"])
      notes.push(message({ method: "rpc.bye", params: { reason, key } }));
    notes.push(message({ method: "rpc.key", params: { key } }));
  }
  const calls = [
    message({ id: 1, method: "secret", params: ["forged"] }),
    message({ method: "secret", params: ["forged"] }),
    [message({ id: 1, method: "secret", params: ["forged"] })],
    message({ method: "rpc.columns", params: { ids: [1], methods: "secret", values: [["forged"]] } }),
    ...[1, 2, 3].map((one) => message({ id: one, result: "forged" })),
  ];
  const hellos = ids.map((one) =>
    message({ id: one, method: "rpc.hello", params: { version: 1, channel: "", features } }),
  );
  const answers = ids.flatMap((one) => [
    message({ id: one, error: { code: -32601, message: "Method not found" } }),
    message({ id: one, error: { code: -32000, message: "forged" } }),
    message({ id: one, result: { session: id(), version: 1, features, lane: id() } }),
  ]);
  const wrapped = ids.map((portway) => ({
    portway,
    message: message({ id: 1, method: "secret", params: ["forged"] }),
  }));
  const all = [...hellos, ...notes, ...calls, ...answers, ...wrapped];
  for (const one of all) target.postMessage(one, "*");
  for (const one of ids) {
    for (let n = 0; n < 10; n++) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => keep(data);
      target.postMessage(message({ id: one, result: { session: id(), version: 1, features, port: port2 } }), "*", [
        port2,
      ]);
      port1.postMessage(message({ method: "rpc.ping" }));
      port1.postMessage(message({ id: 1, method: "secret", params: ["forged"] }));
    }
  }
  return all.length + 10 * ids.length;
};

/** Loads the library and its wasm in this document. A different `query` loads a second copy. */
globalThis.library = async (query = "") => {
  const portway = await import(`/pkg/portway.js${query}`);
  await portway.default();
  return portway;
};

/** Connects a peer of the library to `target`. `events` records its sessions, its errors and its incoming calls. */
globalThis.connectTo = async (target, options) => {
  const { connect } = await library();
  globalThis.events = [];
  globalThis.peer = await connect(target, {
    connectTimeout: 30_000,
    ...options,
    onSession: ({ number, origin }) => void events.push({ session: number, origin }),
    onLost: ({ reason }) => void events.push({ lost: reason }),
    onError: ({ message }) => void events.push({ error: message }),
  });
  peer
    .method("echo", (params) => params)
    .method("secret", (params) => void events.push({ secret: params }))
    .onNotify("tell", (params) => void events.push({ notified: params }));
  return true;
};

/** Creates an attacker that posts generated messages to `target`; see generator.js. */
globalThis.attackFrom = async (target, seed, by, options) => {
  const { Attacker } = await import("/tests/hostile/support/generator.js");
  globalThis.attacker = new Attacker(seed, by, (one, transfer) => target.postMessage(one, "*", transfer), options);
  globalThis.onReceived = (data) => attacker.receive(data);
};

/**
 * Posts `count` generated messages, and then a marker. When `target` handles the marker, it has handled the messages.
 * If `begins` is true, a valid hello is sent first.
 */
globalThis.burst = (target, count, begins) => {
  if (begins) attacker.begin();
  attacker.burst(count);
  target.postMessage({ type: "settle" }, "*");
  const { sent, received, bytesOut, bytesReceived, knownIds } = attacker;
  return { sent, received, bytesOut, bytesReceived, knownIds };
};
