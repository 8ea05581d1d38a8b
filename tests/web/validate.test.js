// Values that are not in the vectors, because JSON cannot express them. vectors.test.js has all other cases.

import { assert } from "chai";
import { validateMessage } from "./support/portway.js";

const throwingTraps = {
  get() {
    throw new Error("gotcha");
  },
  has() {
    throw new Error("gotcha");
  },
};

describe("the validator", () => {
  for (const [name, message] of [
    ["undefined", undefined],
    ["a function", () => {}],
    ["a symbol", Symbol("a")],
    ["a bigint", 1n],
    ["a Map", new Map([["jsonrpc", "2.0"]])],
    ["an object without prototype", Object.create(null)],
    ["an array with holes", [, 1]], // eslint-disable-line no-sparse-arrays
    [
      "an object with getters that throw",
      {
        jsonrpc: "2.0",
        get method() {
          throw new Error("gotcha");
        },
      },
    ],
    [
      "an error with getters that throw",
      {
        jsonrpc: "2.0",
        id: 1,
        error: {
          get code() {
            throw new Error("gotcha");
          },
        },
      },
    ],
    ["a proxy whose traps throw", new Proxy({}, throwingTraps)],
    [
      "ids and codes that are not numbers of JSON",
      { jsonrpc: "2.0", id: NaN, error: { code: Infinity, message: "x" } },
    ],
    ["an id that is a bigint", { jsonrpc: "2.0", method: "a", id: 1n }],
    ["params that are a function", { jsonrpc: "2.0", method: "a", id: 1, params: () => {} }],
  ]) {
    it(`reports an error for ${name}, and throws nothing`, () => {
      const { isValid, errors, warnings } = validateMessage(message);
      assert.isFalse(isValid);
      assert.isNotEmpty(errors);
      for (const text of [...errors, ...warnings]) assert.isString(text);
    });
  }

  it("does not change the message", () => {
    const message = Object.freeze({ jsonrpc: "2.0", method: "a", params: Object.freeze([1]), id: 1 });
    assert.deepEqual(validateMessage(message), { isValid: true, errors: [], warnings: [] });
  });

  it("accepts messages with values that JSON cannot express", () => {
    const params = { when: new Date(0), bytes: new Uint8Array(1), map: new Map() };
    assert.isTrue(validateMessage({ jsonrpc: "2.0", method: "a", params, id: 1 }).isValid);
    assert.isTrue(validateMessage({ jsonrpc: "2.0", result: new Map(), id: 1 }).isValid);
  });

  it("reports the error of each invalid item of a long batch", () => {
    const batch = Array.from({ length: 5_000 }, (_, n) =>
      n % 2 ? { jsonrpc: "2.0", method: "a", id: n } : { method: "a", id: n },
    );
    const { errors } = validateMessage(batch);
    assert.lengthOf(errors, 2_500);
    assert.equal(errors[1], '[Item 2] Missing or invalid "jsonrpc" field (must be "2.0")');
  });

  it("stops at the first hole of an array, because an array may have billions of holes", () => {
    const message = { jsonrpc: "2.0", method: "a", id: 1 };
    const sparse = [message, {}];
    sparse.length = 2 ** 32 - 1;
    const { isValid, errors } = validateMessage(sparse);
    assert.isFalse(isValid);
    assert.match(errors.at(-1), /^\[Item 2\] /);
    assert.isTrue(errors.some((text) => text.startsWith("[Item 1] ")));
    assert.lengthOf(validateMessage([message, , , {}]).errors, 1); // eslint-disable-line no-sparse-arrays
  });

  it('accepts only "request" and "response" as the option type', () => {
    for (const type of ["notification", "", "toString", null, 5]) {
      assert.throws(() => validateMessage({}, { type }), TypeError);
    }
    assert.isFalse(validateMessage({ jsonrpc: "2.0", method: "a", id: 1 }, { type: "response" }).isValid);
    assert.isTrue(validateMessage({ jsonrpc: "2.0", method: "a", id: 1 }, {}).isValid);
  });
});
