// A guest of WIPC: a program that answers JSON-RPC calls on its standard input and output, together with data frames
// and printed lines.

import init, { JSONRPCServer, RPCError } from "portway";
import { WipcType } from "portway/wipc";
import { guestChannel } from "portway/wipc/node";

const channel = guestChannel({
  // Data frames are sent back.
  onData: (payload) => channel.send(WipcType.DATA, payload),
  onClose: () => console.error("guest: asked to close"),
});

await init();
new JSONRPCServer(channel.transport())
  .method("add", ([a, b]) => a + b)
  .method("wait", ([ms]) => new Promise((resolve) => setTimeout(resolve, ms, `${ms} ms`)))
  .method("fail", () => {
    throw new RPCError(-32001, "this method always fails");
  })
  .onNotify("print", ([line]) => console.log(line)); // to the host, between frames
channel.send(WipcType.OPEN);
