// Says all that is wrong with a message by the letter of JSON-RPC 2.0. The rules are in wasm (`validate/`).

import { VALIDATE } from "../web/wasm-abi.js";
import { runGlobalCommand } from "../web/wasm-instance.js";
import { HAS_VERSION, kindOf, shapeOf } from "../web/envelope.js";
import { MAX_FINDINGS } from "../web/limit-values.js";
import { collectFindings } from "../web/wasm-callbacks.js";

// What wasm is told to expect.
const EXPECTATIONS = { request: 1, response: 2 };
const ELEMENTS = 3;

/** `{ isValid, errors, warnings }` for a message or a batch; `options.type` says what it ought to be. */
export function validateMessage(message, options) {
  const type = options?.type;
  if (type !== undefined && !Object.hasOwn(EXPECTATIONS, type)) {
    throw new TypeError(`the type of a message is "request" or "response", not ${String(type)}`);
  }
  const expect = EXPECTATIONS[type] ?? 0;
  const errors = [];
  const warnings = [];
  const tell = (prefix, [facts, code], expect) => {
    const findings = collectFindings(() => runGlobalCommand(VALIDATE, expect, facts, code));
    for (const { text, isError } of findings) {
      const list = isError ? errors : warnings;
      if (list.length < MAX_FINDINGS) list.push(prefix + text);
    }
  };
  const items = itemsOf(message);
  if (items === undefined) tell("", facts(message), expect);
  else if (items.length === 0) tell("", [], ELEMENTS);
  else for (const [index, item] of items.entries()) tell(`[Item ${index}] `, facts(item), expect);
  return { isValid: errors.length === 0, errors, warnings };
}

/** The items of an array, to its first hole, of which there may be billions; undefined for anything else. */
function itemsOf(message) {
  try {
    if (!Array.isArray(message)) return undefined;
    const hole = message.findIndex((_, index) => !(index in message));
    return message.slice(0, hole + 1 || Infinity);
  } catch {
    return undefined;
  }
}

/** What wasm has to know of an item: kinds, in the bits that `validator.rs` says, and the code of its error. */
function facts(item) {
  try {
    const kind = kindOf(item);
    if (kind !== kindOf({})) return [kind << 24];
    const { code, message } = Object(item.error);
    const text = message === undefined ? 0 : kindOf(message);
    const shape = shapeOf(item, item) | (item.jsonrpc === "2.0" ? HAS_VERSION : 0);
    return [(shape | (kind << 24) | (text << 28)) >>> 0, typeof code === "number" ? code : NaN];
  } catch {
    // What cannot be read cannot be sent: it is as good as no object.
    return [kindOf(undefined) << 24];
  }
}
