// Says all that is wrong with a message by the letter of JSON-RPC 2.0. The rules are in wasm (`validate/`).

import { kindOf, shapeOf } from "../web/envelope.js";
import { wasmCore } from "../web/link.js";
import { takeFindings } from "../web/told.js";

// What wasm is told to expect.
const EXPECTATIONS = { request: 1, response: 2 };
const ELEMENTS = 3;

/** `{ isValid, errors, warnings }` for a message or a batch; `options.type` says what it ought to be. */
export function validateMessage(message, options) {
  const core = wasmCore();
  const type = options?.type;
  if (type !== undefined && !Object.hasOwn(EXPECTATIONS, type)) {
    throw new TypeError(`the type of a message is "request" or "response", not ${String(type)}`);
  }
  const expect = EXPECTATIONS[type] ?? 0;
  const errors = [];
  const warnings = [];
  const tell = (prefix, check) => {
    for (const { text, isError } of takeFindings(check)) (isError ? errors : warnings).push(prefix + text);
  };
  if (!Array.isArray(message)) tell("", () => check(core, message, expect));
  else if (message.length === 0) tell("", () => core.validate(0, 0, 0, 0, ELEMENTS));
  else for (const [index, item] of message.entries()) tell(`[Item ${index}] `, () => check(core, item, expect));
  return { isValid: errors.length === 0, errors, warnings };
}

function check(core, item, expect) {
  core.validate(...facts(item), expect);
}

function facts(item) {
  const kind = kindOf(item);
  if (kind !== kindOf({})) return [kind, 0, 0, 0];
  try {
    const { code, message } = Object(item.error);
    const number = typeof code === "number" ? code : NaN;
    return [kind, shapeOf(item), number, message === undefined ? 0 : kindOf(message)];
  } catch {
    // What cannot be read cannot be sent: it is as good as no object.
    return [kindOf(undefined), 0, 0, 0];
  }
}
