// Random values and messages. The sequence depends only on the seed.

/** Returns a generator of integers from 0 to `limit - 1`. */
export function randomOf(seed) {
  let state = seed >>> 0;
  return (limit) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const TEXTS = ["", "text", '"quoted"\n\t\\', "😀 é", "\ud800", "\u2028</script>", "\u202eabc", "x".repeat(300)];

/** Returns a value of JSON. */
export function randomJson(random, depth = 3) {
  const part = () => randomJson(random, depth - 1);
  const leaves = [
    () => random(1000),
    () => -random(2 ** 31) / 7,
    () => TEXTS[random(TEXTS.length)],
    () => [true, false, null][random(3)],
  ];
  const branches = [
    () => Array.from({ length: random(4) }, part),
    () => Object.fromEntries(Array.from({ length: random(4) }, () => [`key ${random(100)}`, part()])),
  ];
  const makers = depth > 0 && random(10) < 6 ? branches : leaves;
  return makers[random(makers.length)]();
}

/** Returns a value that can be cloned, with parts that are not JSON. */
export function randomValue(random, depth = 3) {
  const part = () => randomValue(random, depth - 1);
  const some = (make) => Array.from({ length: random(3) }, make);
  const makers = [
    () => undefined,
    () => [Number.NaN, Number.POSITIVE_INFINITY, -0][random(3)],
    () => BigInt(random(2 ** 31)) ** 3n,
    () => new Date(random(2 ** 31) * 1000),
    () => Uint8Array.from(some(() => random(256))),
    () => new Map(some(() => [part(), part()])),
    () => new Set(some(part)),
    () => [part(), part()],
    () => ({ a: part(), b: part() }),
  ];
  return depth === 0 || random(3) > 0 ? randomJson(random, depth) : makers[random(makers.length)]();
}

/**
 * The messages of one end of a text link: requests, notifications, batches, responses to the requests of the other end,
 * and texts that are not messages. The whitespace of the JSON varies.
 */
export class RandomEnd {
  #random;
  #name;
  #nextId = 0;
  #unanswered = [];

  constructor(random, name) {
    this.#random = random;
    this.#name = name;
  }

  /** Takes a text that this end has received. */
  receive(text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    if (value?.method !== undefined && value.id !== undefined) this.#unanswered.push(value.id);
  }

  /** Returns the text of the next message. With `onlyJson`, the text is JSON. */
  next(onlyJson) {
    const random = this.#random;
    const kind = random(20);
    if (kind === 0) return onlyJson ? "17" : ["not JSON", "", '{"cut":', "\u0000"][random(4)];
    if (kind === 1) return this.#text({ notification: "tick", params: randomJson(random) });
    if (kind < 4) return this.#text(Array.from({ length: 1 + random(3) }, () => this.#request(false)));
    if (kind < 12 && this.#unanswered.length > 0) return this.#text(this.#response());
    return this.#text(this.#request(kind < 15));
  }

  #text(value) {
    const random = this.#random;
    return random(4) === 0
      ? ` ${JSON.stringify(value, null, random(3))}\n`.replaceAll("\n", " ")
      : JSON.stringify(value);
  }

  #request(isNotification) {
    const random = this.#random;
    const method = `${this.#name}.${["ping", "add", "textDocument/hover", "ü"][random(4)]}`;
    const call = { jsonrpc: "2.0", method, ...(random(5) ? { params: randomJson(random) } : {}) };
    if (isNotification) return call;
    this.#nextId += 1;
    return { ...call, id: random(2) ? this.#nextId : `${this.#name}-${this.#nextId}` };
  }

  #response() {
    const random = this.#random;
    const [id] = this.#unanswered.splice(random(this.#unanswered.length), 1);
    if (random(4) > 0) return { jsonrpc: "2.0", id, result: randomJson(random) };
    return { jsonrpc: "2.0", id, error: { code: -32000 - random(100), message: "no", data: randomJson(random) } };
  }
}
