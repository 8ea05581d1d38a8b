// Detects the era of an MCP server by the state machine in Rust.

import { loadRules } from "./mcp-wasm.js";

/** @type {typeof import("../../types/mcp.js").detectEra} */
export async function detectEra({ modern, legacy } = {}) {
  const { Detection } = await loadRules();
  const detection = new Detection(modern?.join(" "), legacy?.join(" "));
  return {
    get state() {
      return /** @type {any} */ (readState(detection.state()));
    },
    handle: (reply) => handle(detection, reply),
  };
}

function readState(text) {
  const [word, value, status] = text.split(" ");
  if (word !== "failed") return { action: word, version: value };
  return { action: word, reason: value, status: status && Number(status) };
}

function handle(detection, reply) {
  const { discovered, initialized, error, supported, status } = reply;
  for (const version of discovered ?? supported ?? []) detection.add_version(version);
  if (discovered) detection.discovered();
  else if (typeof initialized === "string") detection.initialized(initialized);
  else if (Number.isInteger(error)) detection.error(error, supported !== undefined);
  else if (status !== undefined) detection.status(status);
  else detection.unusable();
}
