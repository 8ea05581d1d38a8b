// A host and its guest, which is this script again, with the word "guest".
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
  // Both entries have the same class.
  const isChannel = guest.channel instanceof WipcChannel;
  console.log(JSON.stringify({ sum, isChannel, exit: await guest.close() }));
}
