// A guest of WIPC. This program answers JSON-RPC calls on its standard input and output. It sends each received DATA
// frame back. On the notification `print`, it prints a line between two frames.

import init, { JSONRPCServer, RPCError } from "portway";
import { WipcType } from "portway/wipc";
import { guestChannel } from "portway/wipc/node";

const channel = guestChannel({
  onData: (payload) => channel.send(WipcType.DATA, payload),
  onClose: () => console.error("guest: received CLOSE"),
});

await init();
new JSONRPCServer(channel.transport())
  .method("add", ([a, b]) => a + b)
  .method("wait", ([ms]) => new Promise((resolve) => setTimeout(resolve, ms, `${ms} ms`)))
  .method("fail", () => {
    throw new RPCError(-32001, "this method always fails");
  })
  .onNotify("print", ([line]) => console.log(line)); // the host receives the line between frames
channel.send(WipcType.OPEN);
