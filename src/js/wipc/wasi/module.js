// What a caller gives as a guest, as a compiled WASI command.

import { readWasm } from "../../wasm-response.js";

/** Compiles it, or says why not. */
export async function compileCommand(source, signal) {
  const module =
    source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await readBytes(source, signal));
  const exported = (name, kind) =>
    WebAssembly.Module.exports(module).some((entry) => entry.name === name && entry.kind === kind);
  if (!exported("_start", "function"))
    throw new TypeError("portway: the guest is no WASI command: it exports no function _start");
  if (!exported("memory", "memory")) throw new TypeError("portway: the guest is no WASI command: it exports no memory");
  const foreign = WebAssembly.Module.imports(module).find(({ module }) => module !== "wasi_snapshot_preview1");
  if (foreign)
    throw new TypeError(
      `portway: the guest imports ${foreign.module}.${foreign.name}, and is given WASI preview 1 alone`,
    );
  return module;
}

async function readBytes(source, signal) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  const isAddress = typeof source === "string" || source instanceof URL;
  if (!isAddress && !(source instanceof Response)) {
    throw new TypeError("portway: a guest is a WebAssembly.Module, its bytes, its URL or a Response");
  }
  const response = isAddress ? await fetch(source, { signal }) : source;
  return readWasm(response, response.url || "the response");
}
