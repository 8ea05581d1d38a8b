// Tests the types of `portway/wipc/wasi`.

import { startWasiGuest, type WasiExit, type WasiGuest } from "portway/wipc/wasi";
import { same, type Equal } from "./equal.js";

export async function run(module: WebAssembly.Module, response: Promise<Response>): Promise<number> {
  const guest = await startWasiGuest(module, {
    args: ["a"],
    env: { KEY: "value" },
    onStderr: (text) => text.trim(),
    signal: AbortSignal.abort(),
  });
  same<Equal<typeof guest, WasiGuest>>(true);
  await startWasiGuest(response, {
    worker: new URL("https://localhost/wasi-worker.js"),
    stdinCapacity: 1024,
    startTimeout: 0,
  });
  await startWasiGuest("guest.wasm");
  // The class `TrustedScriptURL`, as @types/trusted-types declares it.
  class TrustedScriptURL {
    #brand = true;
    toString = (): string => String(this.#brand);
    toJSON = (): string => "";
  }
  await startWasiGuest("guest.wasm", { worker: new TrustedScriptURL() });
  await startWasiGuest(new Uint8Array(8));
  // @ts-expect-error a number is not a guest
  await startWasiGuest(7);
  // @ts-expect-error unknown option
  await startWasiGuest(module, { stdin: 1 });

  const writer = guest.writable.getWriter();
  await writer.write(new Uint8Array(1));
  // @ts-expect-error text is not bytes
  await writer.write("text");
  const { value } = await guest.readable.getReader().read();
  same<Equal<typeof value, Uint8Array | undefined>>(true);

  const exit: WasiExit = await guest.exited;
  guest.kill();
  if (exit.error !== undefined) throw exit.error;
  return exit.code;
}
