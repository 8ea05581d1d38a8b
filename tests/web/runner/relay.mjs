// A relay of TCP connections to a port of this machine. The relay can also drop all bytes and FINs that it receives,
// and it can be slow.

import { connect, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";

/** The time between two parts of bytes that a slow relay passes, in ms. */
const PART_MS = 20;

/** `down` and `up` limit the bytes that the relay passes to its clients and to the port, in bytes per second. */
export async function startRelay(port, { down, up } = {}) {
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

  /** Passes the bytes of `from` to `to` in small parts, at most `rate` bytes per second. */
  async function passSlowly(from, to, rate) {
    sockets.add(from);
    from.on("error", () => {});
    const size = Math.ceil((rate * PART_MS) / 1_000);
    try {
      for await (const bytes of from)
        for (let at = 0; at < bytes.length; at += size) {
          if (!isDropping) to.write(bytes.subarray(at, at + size));
          await setTimeout(PART_MS);
        }
    } catch {
      // The server or the client has ended the connection.
    }
    sockets.delete(from);
    if (!isDropping) to.destroy();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    if (up === undefined) pass(near, far);
    else passSlowly(near, far, up);
    if (down === undefined) pass(far, near);
    else passSlowly(far, near, down);
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    /** After this call, the relay still reads bytes and FINs, but drops them. */
    drop() {
      isDropping = true;
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
