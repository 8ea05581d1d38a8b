// Access to the wasm memory of the library.

import { assert } from "chai";
import { freshCopy } from "./portway.js";

/** Returns a new copy of the library, and the memory of its wasm. */
export async function copyWithMemory() {
  const library = await freshCopy();
  const { Instance } = WebAssembly;
  let memory;
  // biome-ignore lint/complexity/useArrowFunction: the library calls this function with `new`.
  WebAssembly.Instance = function (...args) {
    const instance = new Instance(...args);
    memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
    return instance;
  };
  try {
    await library.default();
  } finally {
    WebAssembly.Instance = Instance;
  }
  assert.instanceOf(memory, WebAssembly.Memory);
  return { library, memory };
}
