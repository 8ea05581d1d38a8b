// A use of the declarations of a package that wasm-pack has built.
import init, { JSONRPCClient, JSONRPCServer, RPCError, kaiak, portTransport, validateMessage } from "./pkg/portway.js";
import type { PreviewMethods } from "./pkg/portway.js";

await init();
const { port1, port2 } = new MessageChannel();
const server = new JSONRPCServer<PreviewMethods>(portTransport(port1));
server.method("fetch", ({ url }) => ({ status: 200, headers: {}, body: url }));
const client = new JSONRPCClient<PreviewMethods>(portTransport(port2), { timeout: 1000 });
const { status } = await client.request("fetch", { url: "/" });
const code: number = new RPCError(kaiak.SESSION_IN_USE, "busy").code;
// @ts-expect-error the method does not exist
await client.request("fetsch", { url: "/" });
export const used: [number, number, boolean] = [status, code, validateMessage({}).isValid];
