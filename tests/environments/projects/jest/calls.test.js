import { describe, jest, test } from "@jest/globals";
import * as library from "portway";
import { callTests, clockTests } from "./calls.js";

const ALL = [
  "Date",
  "hrtime",
  "nextTick",
  "performance",
  "queueMicrotask",
  "requestAnimationFrame",
  "cancelAnimationFrame",
];
const REST = [
  "requestIdleCallback",
  "cancelIdleCallback",
  "setImmediate",
  "clearImmediate",
  "setInterval",
  "clearInterval",
];

const fake = {
  use: ({ only }) => jest.useFakeTimers(only && { doNotFake: [...ALL, ...REST] }),
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

  test("legacy fake timers advance timeouts, too", async () => {
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
