// What a caller gives as a guest, as a compiled WASI command.

/** Compiles it, or says why not. */
export async function commandOf(given, signal) {
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(await bytesOf(given, signal));
  const exported = (name, kind) =>
    WebAssembly.Module.exports(module).some((it) => it.name === name && it.kind === kind);
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

async function bytesOf(given, signal) {
  if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) return given;
  const isPlace = typeof given === "string" || given instanceof URL;
  if (!isPlace && !(given instanceof Response)) {
    throw new TypeError("portway: a guest is a WebAssembly.Module, its bytes, its URL or a Response");
  }
  const response = isPlace ? await fetch(given, { signal }) : given;
  const place = `portway: ${response.url || "the response"}`;
  if (!response.ok) throw new Error(`${place} is not there (status ${response.status})`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // The MIME type does not matter; a page in place of the file does, and its compile error would puzzle.
  if (String(bytes.subarray(0, 4)) !== "0,97,115,109") {
    throw new Error(`${place} is no WebAssembly (${response.headers.get("content-type")})`);
  }
  return bytes;
}
