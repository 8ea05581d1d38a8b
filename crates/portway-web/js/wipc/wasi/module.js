// Compiles the module of a guest.

import { compileModule, isModule } from "../../driver/wasm-response.js";

/** Returns the compiled module. Throws if it is not a WASI command. */
export async function compileCommand(source, signal) {
  const isAddress = typeof source === "string" || source instanceof URL;
  const isBytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  if (!isAddress && !isBytes && !isModule(source) && !(source instanceof Response)) {
    throw new TypeError("portway: the guest must be a WebAssembly.Module, its bytes, its URL or a Response");
  }
  const module = await compileModule(isAddress ? await fetch(source, { signal }) : source, "the response");
  const exported = (name, kind) =>
    WebAssembly.Module.exports(module).some((entry) => entry.name === name && entry.kind === kind);
  if (!exported("_start", "function"))
    throw new TypeError("portway: the guest is not a WASI command: it does not export a function _start");
  if (!exported("memory", "memory"))
    throw new TypeError("portway: the guest is not a WASI command: it does not export a memory");
  const foreign = WebAssembly.Module.imports(module).find((entry) => entry.module !== "wasi_snapshot_preview1");
  if (foreign)
    throw new TypeError(
      `portway: the guest imports ${foreign.module}.${foreign.name}, but only WASI preview 1 is available`,
    );
  return module;
}
