// Generates handshake messages in random order and form. This file also runs in documents of other parties, so it
// imports nothing.

/** A generator of random numbers that a seed determines (mulberry32). */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Returns a number that is at least 0 and less than 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns a whole number that is at least 0 and less than `end`. */
  below(end) {
    return Math.floor(this.next() * end);
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  id() {
    let id = "";
    while (id.length < 32) id += this.below(16).toString(16);
    return id;
  }
}

/**
 * Whether the engine is WebKit. WebKitGTK 2.50.6 crashes after the transfer of a port that is closed or in use, because
 * the engine reads the address 0x11a.
 */
const isWebKit = /AppleWebKit(?!.*Chrome)/.test(globalThis.navigator?.userAgent ?? "");

const FEATURES = ["batch", "cancel", "columns", "lane", "progress", "stream"];
const MAX_KNOWN = 20;
const message = (rest) => ({ jsonrpc: "2.0", ...rest });

/** Values that are invalid in most members of a message. */
const ODD = [
  null,
  undefined,
  0,
  -1,
  1.5,
  NaN,
  true,
  "",
  "x",
  "x".repeat(31),
  "f".repeat(33),
  "F".repeat(32),
  [],
  {},
  [null],
  { id: 1 },
];
const REASONS = ["closed", "left", "replaced", "", "x", undefined, null, 5, {}];

/** Returns roughly the number of bytes of a value as JSON. */
export function jsonBytes(value, depth = 0) {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null || depth > 6) return 4;
  let sum = 2;
  if (Array.isArray(value)) for (const item of value.slice(0, 1_000)) sum += 1 + jsonBytes(item, depth + 1);
  else for (const key in value) sum += key.length + 4 + jsonBytes(value[key], depth + 1);
  return sum;
}

/**
 * Sends generated messages as the peer, as a stranger, or as a former document of the peer. `post` posts a message to
 * the boundary. A route is the name of the port, the lane or the boundary through which a call is sent. The params of a
 * call contain the sender and the route, and a handler of the host compares both with the current session. If `mayEnd`
 * is true, some messages end the connection permanently, as a peer may do by a goodbye or by a closed port.
 */
export class Attacker {
  sent = 0;
  received = 0;
  bytesOut = 0;
  bytesReceived = 0;
  /** Ports of former sessions, each with its route. */
  oldPorts = [];
  /** All ports of this attacker. The references keep the garbage collection from closing a port. */
  ports = [];
  #random;
  #by;
  #post;
  #mayEnd;
  /** The id of the latest hello of the host, if this attacker has received it. */
  #current;
  /** The ids of former hellos of the host. */
  #spent = [];
  /** The ids of the hellos that this attacker has sent. */
  #own = [];
  /** The ids of sessions, and overheard ids. */
  #others = [];
  /** The keys that the host has sent. */
  #keys = [];
  /** Ports of sessions that have not been left, each with its route. */
  #ports = [];
  /** Lanes of sessions that have not been left, each with its route. */
  #lanes = [];
  /** The port or lane of the last received message. */
  #lastRoute;
  /** Ports that were sent after the other port of their channel was closed. */
  #closed = [];
  /** For the id of each sent hello, the route of the session that this hello may begin. */
  #routes = new Map();
  #routeCount = 0;

  constructor(seed, by, post, { mayEnd = true, run = 0 } = {}) {
    this.#random = new Random(seed);
    this.#by = `${by}`;
    this.#routeCount = run * 1e6;
    this.#post = post;
    this.#mayEnd = mayEnd;
  }

  /** Handles a message that arrived over the boundary. */
  receive(data) {
    this.received++;
    if (data?.portway !== undefined)
      this.#lastRoute = this.#lanes.find(({ lane }) => lane === data.portway) ?? this.#lastRoute;
    if (data?.method === "rpc.hello" && data.id !== this.#current) {
      remember(this.#spent, this.#current);
      this.#current = data.id;
    } else if (data?.result !== undefined) {
      const { id } = data;
      // In a plain session, the host also answers calls. The results of these calls may be null.
      const result = Object(data.result);
      const route = this.#routes.get(id);
      if (result.session !== undefined) remember(this.#others, result.session);
      if (result.port !== undefined && route !== undefined) this.#openPort(result.port, route);
      else if (typeof result.lane === "string" && route !== undefined)
        remember(this.#lanes, { lane: result.lane, route });
    }
    this.#countReceived(data);
  }

  /** Adds overheard ids to the known ids. */
  learn({ current, ids }) {
    this.#current = current;
    for (const id of ids) remember(this.#others, id);
  }

  get knownIds() {
    return {
      current: this.#current,
      ids: [...this.#spent, ...this.#own, ...this.#others, ...this.#keys].slice(-MAX_KNOWN),
    };
  }

  /** Sends a valid hello that the host answers. Without such hellos, few sessions would begin. */
  begin() {
    const id = `00000000${this.#random.id().slice(8)}`;
    this.#routes.set(id, this.#newRoute());
    this.sent++;
    this.#postToBoundary(
      message({
        id,
        method: "rpc.hello",
        params: { version: 1, channel: "", features: this.#features(this.#routes.get(id)) },
      }),
    );
  }

  /** Sends `count` messages. */
  burst(count) {
    for (let n = 0; n < count; n++) this.#sendRandom();
  }

  /** Stops the use of all ports and lanes. Returns the ports, which now belong to former sessions. */
  leave() {
    const oldPorts = [...this.oldPorts, ...this.#ports].slice(-MAX_KNOWN);
    this.#ports = [];
    this.#lanes = [];
    this.#lastRoute = undefined;
    return oldPorts;
  }

  #countReceived(data) {
    this.bytesReceived += jsonBytes(data);
  }

  #openPort(port, route) {
    const one = { port, route };
    port.onmessage = ({ data }) => {
      this.received++;
      // A goodbye ends the session of a port, or withdraws the response that transferred the port.
      if (data?.method !== "rpc.bye") this.#lastRoute = one;
      else if (this.#lastRoute === one) this.#lastRoute = undefined;
      this.#countReceived(data);
      if (data?.method === "rpc.key") remember(this.#keys, data.params?.key);
    };
    this.ports.push(port);
    remember(this.#ports, one);
    // The host begins the session when this message arrives.
    if (this.#random.below(8) > 0) port.postMessage(message({ method: "rpc.ping" }));
  }

  #id() {
    const random = this.#random;
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        return this.#current ?? random.id();
      case 3:
        return random.pick(this.#spent) ?? random.id();
      case 4:
        return random.pick(this.#own) ?? random.id();
      case 5:
        return random.pick(this.#others) ?? random.id();
      case 6:
        return random.pick(ODD);
      // If both peers send a hello, the hello with the lesser id is answered. The id of case 7 is less than most ids of
      // the host, and the id of case 8 is greater than most of them.
      case 7:
        return `0${random.id().slice(1)}`;
      case 8:
        return `f${random.id().slice(1)}`;
      default:
        return random.id();
    }
  }

  #features(route) {
    const random = this.#random;
    // The route is the first item, because the host reads only the beginning of a long list.
    if (random.below(20) === 0) return [route, ...random.pick([ODD, Array(1_000).fill("x"), [{}, [], "lane"]])];
    return [route, ...FEATURES.filter(() => random.below(4) > 0)];
  }

  #newRoute() {
    return `${this.#by} ${++this.#routeCount}`;
  }

  #hello() {
    const random = this.#random;
    const id = this.#id();
    if (!this.#routes.has(id)) this.#routes.set(id, this.#newRoute());
    remember(this.#own, id);
    const channel = random.below(10) === 0 ? random.pick(ODD) : "";
    const params =
      random.below(30) === 0
        ? random.pick(ODD)
        : {
            version: random.pick([1, 1, this.#mayEnd ? 2 : 1, null]),
            channel,
            features: this.#features(this.#routes.get(id)),
          };
    return [message({ id, method: "rpc.hello", params })];
  }

  #answer() {
    const random = this.#random;
    const id = random.below(2) === 0 && this.#current !== undefined ? this.#current : this.#id();
    if (random.below(12) === 0) {
      const code = this.#mayEnd ? random.pick([-32601, -32601, -32603, "x", undefined]) : -32601;
      return [
        message({ id, error: random.below(6) === 0 && this.#mayEnd ? random.pick(ODD) : { code, message: "x" } }),
      ];
    }
    if (random.below(40) === 0) return [message({ id, result: random.pick(ODD) })];
    const route = this.#newRoute();
    const result = {
      session: random.below(3) > 0 ? random.id() : this.#id(),
      version: 1,
      features: this.#features(route),
    };
    const transfer = [];
    const kind = random.below(12);
    if (kind < 5) {
      const { port1, port2 } = new MessageChannel();
      this.#openPort(port1, route);
      if (kind === 0 && this.#mayEnd && !isWebKit) {
        // This port is closed before the other port of its channel is sent.
        port1.close();
        remember(this.#closed, port2);
      }
      result.port = port2;
      transfer.push(port2);
    } else if (kind === 5) {
      // Each lane has a new name, because a repeated name would belong to two routes.
      result.lane = random.below(4) > 0 ? random.id() : random.pick(ODD);
      if (typeof result.lane === "string") remember(this.#lanes, { lane: result.lane, route });
    } else if (kind === 6 && this.#mayEnd && !isWebKit && this.#ports.length > 0) {
      // The host already has the other port of this channel. The attacker also sends its own port, unless this port can
      // no longer be transferred.
      const used = random.pick(this.#ports);
      result.port = used.port;
      used.route = route;
      transfer.push(used.port);
      this.#ports.splice(this.#ports.indexOf(used), 1);
    } else if (kind === 7) result.port = random.pick(ODD);
    return [message({ id, result }), transfer];
  }

  #sessionNotification() {
    const random = this.#random;
    const key = random.below(2) ? random.pick(this.#keys) : this.#id();
    switch (random.below(7)) {
      case 0: {
        // Most goodbyes end the session, and a run without a session tests little. So pings replace most goodbyes.
        if (random.below(5) > 0) return message({ method: "rpc.ping" });
        const reasons = this.#mayEnd ? REASONS : REASONS.filter((reason) => reason !== "replaced");
        return message({
          method: "rpc.bye",
          params: random.below(10) === 0 ? random.pick(ODD) : { reason: random.pick(reasons), key },
        });
      }
      case 1:
        return message({ method: "rpc.key", params: random.below(5) === 0 ? random.pick(ODD) : { key } });
      case 2:
        return message({ method: "rpc.lock" });
      case 3:
        return message({ method: "rpc.load" });
      case 4:
        return message({ method: "rpc.pong" });
      default:
        return message({ method: "rpc.ping" });
    }
  }

  #call(route) {
    const random = this.#random;
    const params = { by: this.#by, route };
    const id = random.pick([1, 2, 3, random.below(100), "a", null, undefined, this.#current]);
    const method = random.pick(["secret", "secret", "secret", "slow", "unknown", "rpc.unknown", "", 5]);
    switch (random.below(12)) {
      case 0:
        return message({ id, result: params });
      case 1:
        return message({ id, error: { code: random.below(100), message: "x" } });
      case 2:
        return message({
          method: "rpc.columns",
          params: { ids: [1, 2, 3], methods: "secret", values: [params, params, params] },
        });
      case 3:
        return message({
          method: "rpc.columns",
          params: {
            ids: random.pick([[1], undefined, ODD]),
            methods: random.pick(["echo", ODD]),
            values: random.pick([[params], ODD, undefined]),
          },
        });
      case 4:
        return [message({ id, method, params }), message({ method: "secret", params }), message({ id: 4, result: 1 })];
      case 5:
        return message({
          id,
          method: "rpc.stream",
          params: { method: "items", params, credit: random.pick([1, 5, 0, 65_536, "x"]) },
        });
      case 6:
        return message({
          method: random.pick(["rpc.item", "rpc.credit", "$/cancelRequest", "$/progress"]),
          params: { id, token: id, value: params, count: random.pick([1, 65_536, -1, "x"]) },
        });
      case 7:
        return message({ id: random.pick(ODD), method: random.pick(ODD), params: random.pick(ODD) });
      default:
        return message({ id, method, params });
    }
  }

  #sendRandom() {
    const random = this.#random;
    this.sent++;
    const kind = random.below(20);
    try {
      if (kind < 4) return this.#postToBoundary(...this.#hello());
      if (kind < 7) return this.#postToBoundary(...this.#answer());
      // Most notifications and calls are sent in the current session.
      if (kind < 16 && this.#lastRoute !== undefined && random.below(3) > 0)
        return this.#through(this.#lastRoute, kind);
      const usesOldPorts = this.oldPorts.length > 0 && random.below(3) === 0;
      const [ports, lanes] = [usesOldPorts ? this.oldPorts : this.#ports, this.#lanes];
      const usesPort = ports.length > 0 && random.below(4) > 0;
      if (usesPort) return this.#through(random.below(2) ? ports.at(-1) : random.pick(ports), kind);
      if (lanes.length > 0 && random.below(2) > 0) return this.#through(random.pick(lanes), kind);
      if (kind === 19) return this.#postToBoundary(random.pick(ODD));
      this.#postToBoundary(kind < 9 ? this.#sessionNotification() : this.#call("boundary"));
    } catch {
      // A port of this message cannot be transferred any more, so the message is not sent.
    }
  }

  /** Sends a notification or a call through a port or a lane. */
  #through({ port, lane, route }, kind) {
    const one = kind < 9 ? this.#sessionNotification() : this.#call(route);
    if (port === undefined) return this.#postToBoundary({ portway: lane, message: one });
    this.bytesOut += jsonBytes(one);
    port.postMessage(one);
  }

  #postToBoundary(one, transfer = []) {
    this.bytesOut += jsonBytes(one);
    this.#post(one, transfer);
  }
}

function remember(list, item) {
  if (item === undefined) return;
  list.push(item);
  if (list.length > MAX_KNOWN) {
    list.shift();
  }
}
