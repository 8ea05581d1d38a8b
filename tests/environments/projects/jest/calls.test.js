// Runs the shared tests in Jest, with the fake timers of Jest.

import { describe, expect, jest, test } from "@jest/globals";
import * as library from "portway";
import { callTests, clockTests } from "./calls.js";

/** The functions that Jest can fake, except `setTimeout` and `clearTimeout`. */
const OTHER_FUNCTIONS = [
  "Date",
  "hrtime",
  "nextTick",
  "performance",
  "queueMicrotask",
  "requestAnimationFrame",
  "cancelAnimationFrame",
  "requestIdleCallback",
  "cancelIdleCallback",
  "setImmediate",
  "clearImmediate",
  "setInterval",
  "clearInterval",
];

const fake = {
  use: ({ only }) => jest.useFakeTimers(only && { doNotFake: OTHER_FUNCTIONS }),
  advance: (ms) => jest.advanceTimersByTimeAsync(ms),
  real: () => jest.useRealTimers(),
  clear: () => jest.clearAllTimers(),
};
const fresh = () => {
  jest.resetModules();
  return import("portway");
};

describe(globalThis.PLACE, () => {
  for (const [name, body] of [...callTests(library), ...clockTests(library, fake, fresh)]) test(name, body);

  test("a failed comparison with `remote` of a peer is printed, and makes no call", async () => {
    await library.default();
    const sent = [];
    const { remote } = new library.JSONRPCPeer({ send: (message) => void sent.push(message), onMessage() {} });
    const rejected = [];
    const listener = (reason) => rejected.push(reason);
    process.on("unhandledRejection", listener);
    for (const compare of ["toBe", "toEqual", "toStrictEqual", "toMatchObject"]) {
      expect(() => expect({ remote })[compare]({ remote: 1 })).toThrow(compare);
    }
    await new Promise((resolve) => setTimeout(resolve));
    process.off("unhandledRejection", listener);
    expect([sent, rejected]).toEqual([[], []]);
  });

  test("legacy fake timers also advance timeouts", async () => {
    await library.default();
    jest.useFakeTimers({ legacyFakeTimers: true });
    let end;
    new library.JSONRPCClient({ send() {}, onMessage() {} }).request("f").catch(({ reason }) => (end = reason));
    jest.advanceTimersByTime(11_000);
    jest.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve));
    if (end !== "timeout") throw new Error(String(end));
  });
});
