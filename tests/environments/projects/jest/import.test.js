// A component may import the package although its tests make no calls. This import must not throw in jsdom.

import { expect, test } from "@jest/globals";
import init, { RPCError } from "portway";

test("the import does not throw where fetch and TextDecoder are missing", () => {
  expect([typeof fetch, typeof TextDecoder]).toEqual(["undefined", "undefined"]);
  expect(new RPCError(-32001, "x").code).toBe(-32001);
});

test("the error of init() names the missing feature and a remedy", async () => {
  const error = await init().catch((error) => error);
  expect(error.message).toMatch(/portway_bg\.wasm cannot be read: .*portway\/inline/);
  expect(error.cause.message).toMatch(/fetch/);
});
