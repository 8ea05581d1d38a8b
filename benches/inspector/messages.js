// Makes the messages of the workload `inspector`: requests with their responses, notifications, errors and batches of
// several methods. The lengths are those of language servers and of nodes of a block chain. Most messages are short,
// and a few long messages have most of the text. Each run makes the same messages.

/** A text that 10 of 100 000 records contain. Some of these records contain it in upper case. */
export const RARE = "Portway-Needle";
/** A text that a quarter of the records contain. */
export const COMMON = "temperature";

const METHODS = [
  "textDocument/didChange",
  "textDocument/completion",
  "eth_getBlockByNumber",
  "eth_call",
  "aria2.tellStatus",
  "workspace/symbol",
  "userList",
  "getWeather",
];
const WORDS = ["Alpha", "bravo", "Charlie", "delta", "Echo", "foxtrot", "Grüße", "Hotel", COMMON, "India", "juliett"];
/** Ranges of the lengths of contents, in characters. `share` is the part of the messages in this range. */
const LENGTHS = [
  { share: 0.5, min: 0, max: 80 },
  { share: 0.36, min: 80, max: 640 },
  { share: 0.125, min: 800, max: 2_400 },
  { share: 0.015, min: 4_000, max: 8_000 },
];
const START = 1_796_000_000_000_000;

/** Returns a random number generator: a function that returns numbers from 0 to 1. Equal seeds yield equal numbers. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function lengthOf(random) {
  let part = random();
  const { min, max } = LENGTHS.find(({ share }) => (part -= share) < 0) ?? LENGTHS[0];
  return min + random() * (max - min);
}

function contentOf(random, n) {
  const content = { n, ratio: random() };
  for (let length = lengthOf(random); length > 0; length -= 24) {
    const word = WORDS[Math.floor(random() * WORDS.length)];
    content[`${word}${Math.floor(length)}`] = random() < 0.5 ? Math.floor(random() * 1e6) : `the ${word} of ${n}`;
  }
  // One of a hundred texts has characters beyond Latin-1, so its string has two bytes per character.
  if (n % 100 === 7) content.city = "東京";
  if (n % 10_000 === 4_321) content.mark = n % 20_000 < 10_000 ? RARE : RARE.toUpperCase();
  return content;
}

/** Makes messages. Each call of `next` returns a pair: the direction of a message, and its value. */
export class Messages {
  #random = randomOf(20_261_201);
  #n = 0;
  #pending = [];

  next() {
    const random = this.#random;
    const n = this.#n++;
    const method = METHODS[Math.floor(random() ** 2 * METHODS.length)];
    const kind = random();
    if (this.#pending.length > 0 && (kind < 0.4 || this.#pending.length > 40)) {
      const at = Math.floor(random() * this.#pending.length);
      const [{ id, direction }] = this.#pending.splice(at, 1);
      const other = direction === "sent" ? "received" : "sent";
      if (kind < 0.015)
        return [other, { jsonrpc: "2.0", id, error: { code: -32000, message: "no", data: contentOf(random, n) } }];
      return [other, { jsonrpc: "2.0", id, result: contentOf(random, n) }];
    }
    const direction = random() < 0.8 ? "sent" : "received";
    if (kind > 0.8) return ["received", { jsonrpc: "2.0", method, params: contentOf(random, n) }];
    if (kind > 0.79) return [direction, [n, n + 1].map((m) => ({ jsonrpc: "2.0", method, params: [m] }))];
    this.#pending.push({ id: n, direction });
    return [direction, { jsonrpc: "2.0", id: n, method, params: contentOf(random, n) }];
  }
}

/** Returns the records of `count` messages, as a tap of a WebSocket writes them. */
export function recordsOf(count) {
  const messages = new Messages();
  const encoder = new TextEncoder();
  return Array.from({ length: count }, (_, n) => {
    const [direction, value] = messages.next();
    const text = JSON.stringify(value);
    const size = encoder.encode(text).length;
    return { kind: "message", at: START + n * 1_000, link: "bench", direction, form: "text", text, size };
  });
}

/** Returns a message of 5 MB in one line. */
export function largeText(id) {
  const item = JSON.stringify({ name: "a ship", at: [1.5, 2.25], open: true });
  const items = Array(Math.floor(5_000_000 / (item.length + 1))).fill(item);
  return `{"jsonrpc":"2.0","id":${id},"method":"large","params":[${items.join()}]}`;
}
