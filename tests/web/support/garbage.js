// Forces a garbage collection if the engine allows it, or causes one by allocating memory.

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
 * Creates objects without references, and waits until the engine has collected them. Then the engine has also had the
 * chance to collect older objects. The created objects are a plain object and, if collections can be forced, a port.
 */
export async function untilCollected() {
  const objects = weakReferences();
  // Firefox collects in steps of a few milliseconds. On a busy machine, all steps together took more than 8 s.
  const deadline = performance.now() + 25_000;
  let garbage = [];
  while (objects.some((object) => object.deref() !== undefined)) {
    if (performance.now() > deadline) throw new Error("the engine has collected nothing");
    // After deref(), the engine keeps the object until the end of the task.
    await pause(5);
    gc?.();
    if (gc !== undefined) continue;
    garbage = Array.from({ length: 200_000 }, (_, n) => ({ n }));
    for (let n = 0; n < 8; n++) garbage.push(new ArrayBuffer(1 << 22));
  }
  return garbage.length;
}

function weakReferences() {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  // Firefox may collect platform objects, such as ports, much later. So they need a forced collection.
  return [new WeakRef({}), ...(gc === undefined ? [] : [new WeakRef(port1)])];
}
