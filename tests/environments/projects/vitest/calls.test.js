// Runs the shared tests in Vitest, with the fake timers of Vitest.

import * as library from "portway";
import { describe, test, vi } from "vitest";
import { callTests, clockTests } from "./calls.js";

const fake = {
  use: ({ only }) => vi.useFakeTimers(only && { toFake: only }),
  advance: (ms) => vi.advanceTimersByTimeAsync(ms),
  real: () => vi.useRealTimers(),
  clear: () => vi.clearAllTimers(),
};
const fresh = () => {
  vi.resetModules();
  return import("portway");
};

describe(process.env.PLACE, () => {
  for (const [name, body] of [...callTests(library), ...clockTests(library, fake, fresh)]) test(name, body);
});
