// A worker in Rust that traps on request. A JavaScript client uses the same wasm instance. The page asks how the calls
// of this client ended. The question and the answer are plain data, not JSON-RPC messages.

import init, { JSONRPCClient, portTransport, serveUntilTrap } from "../../../../wasm-bindgen-test.js";
import { withSmallMemory } from "../web/support/small-memory.js";

/** The number of calls of exported wasm functions since the first trap. */
let callsAfterTrap;

/** Returns a function that calls `run`, detects the first trap, and counts the calls after this trap. */
function counted(run) {
  return (...args) => {
    if (callsAfterTrap !== undefined) callsAfterTrap++;
    try {
      return run(...args);
    } catch (error) {
      callsAfterTrap ??= 0;
      throw error;
    }
  };
}

const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (module, imports) => {
  const instance = await instantiate(module, imports);
  const exports = { ...instance.exports };
  for (const [name, member] of Object.entries(exports))
    if (typeof member === "function") exports[name] = counted(member);
  return { instance: { exports }, module };
};

const bytes = await (await fetch(new URL("../../../../wasm-bindgen-test_bg.wasm", import.meta.url))).arrayBuffer();
await init({ module_or_path: new WebAssembly.Module(withSmallMemory(new Uint8Array(bytes), 32)) });

// The Rust client makes a call on this port, and gets no response.
const unanswered = new MessageChannel();
serveUntilTrap(unanswered.port2);

// A JavaScript client that uses the same wasm instance.
const { port1 } = new MessageChannel();
const client = new JSONRPCClient(portTransport(port1), { timeout: 0 });
const end = client.request("never").catch((error) => error);

addEventListener("message", async ({ data }) => {
  if (data !== "how did the other calls end?") return;
  const { reason } = await end;
  const later = await client.request("later").catch((error) => error.reason);
  postMessage({ reason, later, callsAfterTrap });
});
