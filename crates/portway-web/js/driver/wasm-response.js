// Reads WebAssembly from a response of a server.

/** The first bytes of a WebAssembly file. */
const MAGIC = "0,97,115,109";

/**
 * Returns the bytes of a WebAssembly file. Throws if the response does not hold one; `location` names it in the error.
 */
export async function readWasm(response, location) {
  const { ok, status, headers } = response;
  // Vite refuses files outside of its root, such as those of a linked package.
  const hint = status === 403 ? "; linked, and so outside of Vite's root?" : "";
  if (!ok) throw new Error(`portway: ${location} was not found (status ${status}${hint})`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // The MIME type does not matter. A page in place of the file does: its compile error would not name the cause.
  if (String(bytes.subarray(0, 4)) !== MAGIC)
    throw new Error(`portway: ${location} is not WebAssembly (${headers.get("content-type")})`);
  return bytes;
}
