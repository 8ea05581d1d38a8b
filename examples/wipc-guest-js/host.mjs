// Starts the guest and calls its methods: `node host.mjs`.

import { fileURLToPath } from "node:url";
import init, { JSONRPCClient } from "portway";
import { WipcType } from "portway/wipc";
import { spawnGuest } from "portway/wipc/node";

await init();
const guest = await spawnGuest(process.execPath, [fileURLToPath(new URL("guest.mjs", import.meta.url))], {
  onOpen: () => console.log("the guest is ready"),
  onData: (payload) => console.log(`${payload.length} bytes came back`),
  onPassthrough: (bytes) => process.stdout.write(bytes),
});
const client = new JSONRPCClient(guest.transport());

console.log(`1 + 2 = ${await client.request("add", [1, 2])}`);
await client.request("fail").catch(({ code, message }) => console.log(`${code}: ${message}`));
guest.channel.send(WipcType.DATA, new Uint8Array(1_000_000));
client.notify("print", ["this line was printed by the guest"]);

// `close` sends CLOSE while the guest handles this request. The guest answers the request before it exits.
const waitCall = client.request("wait", [100]);
const { code } = await guest.close();
console.log(`after ${await waitCall} the guest has exited with ${code}`);
