// The garbage collector, forced where that can be, and else brought about by garbage.

import { pause } from "./outcomes.js";
import { inNode } from "./portway.js";

let gc = globalThis.gc;
if (inNode && gc === undefined) {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
}

/**
 * Resolves once unreferenced objects are collected: a plain object, and one of the platform where that can be forced.
 */
export async function untilCollected() {
  const objects = weakReferences();
  const deadline = performance.now() + 8_000;
  let litter = [];
  while (objects.some((object) => object.deref() !== undefined)) {
    if (performance.now() > deadline) throw new Error("nothing is collected");
    // A reference that was looked at holds its object for the rest of the task.
    await pause(5);
    gc?.();
    if (gc !== undefined) continue;
    litter = Array.from({ length: 200_000 }, (_, n) => ({ n }));
    for (let n = 0; n < 8; n++) litter.push(new ArrayBuffer(1 << 22));
  }
  return litter.length;
}

function weakReferences() {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  // Firefox frees those when it likes.
  return [new WeakRef({}), ...(gc === undefined ? [] : [new WeakRef(port1)])];
}
