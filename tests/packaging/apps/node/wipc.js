// A host and its guest. The guest is a process of this script with the argument "guest".
import { fileURLToPath } from "node:url";
import init, { JSONRPCClient, JSONRPCServer } from "portway";
import { WipcChannel } from "portway/wipc";
import { guestChannel, spawnGuest } from "portway/wipc/node";

await init();
if (process.argv[2] === "guest") {
  new JSONRPCServer(guestChannel().transport()).method("add", ([a, b]) => a + b);
} else {
  const guest = await spawnGuest(process.execPath, [fileURLToPath(import.meta.url), "guest"]);
  const sum = await new JSONRPCClient(guest.transport()).request("add", [40, 2]);
  // `portway/wipc` and `portway/wipc/node` must share one class.
  const isChannel = guest.channel instanceof WipcChannel;
  console.log(JSON.stringify({ sum, isChannel, exit: await guest.close() }));
}
