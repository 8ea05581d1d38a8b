// A client and a server in one thread, connected by a MessageChannel.
import init, { CallError, JSONRPCClient, JSONRPCServer, RPCError, portTransport } from "portway";

await init();
const { port1, port2 } = new MessageChannel();
const server = new JSONRPCServer(portTransport(port1));
server
  .method("add", ([a, b]) => a + b)
  .method("refuse", () => {
    throw new RPCError(-32001, "not today");
  })
  .method("never", () => new Promise(() => {}));
const client = new JSONRPCClient(portTransport(port2));

const sum = await client.request("add", [20, 22]);
const refusal = await client.request("refuse").catch((error) => error);
const timeoutError = await client.request("never", undefined, { timeout: 50 }).catch((error) => error);
client.destroy();
server.destroy();
console.log(
  JSON.stringify({
    sum,
    refusal: refusal instanceof RPCError && refusal.code,
    late: timeoutError instanceof CallError && timeoutError.message,
  }),
);
// Both peers are destroyed, so the process must exit by itself.
