// A relay of TCP connections to a port of this machine. The relay can also drop all bytes and FINs that it receives.

import { connect, createServer } from "node:net";

export async function startRelay(port) {
  let isDropping = false;
  const sockets = new Set();

  /** Passes the bytes and the end of `from` to `to`. */
  function pass(from, to) {
    sockets.add(from);
    from.on("data", (bytes) => isDropping || to.write(bytes));
    from.on("end", () => isDropping || to.end());
    from.on("error", () => {});
    from.on("close", () => {
      sockets.delete(from);
      if (!isDropping) to.destroy();
    });
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    pass(near, far);
    pass(far, near);
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    /** After this call, the relay still reads the bytes and ends of its connections, but drops them. */
    drop() {
      isDropping = true;
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
