// The end of a process of Node after `destroy()`.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { requestsIn, startServer } from "./support/sockets.js";
import { afterThisTest } from "./support/cleanup.js";

const root = new URL("../../", import.meta.url);

/** Starts a process of Node with this program. The program can use `WebSocket`, `client` and `transport`. */
function start(url, program) {
  const text = `
    import WebSocket from "ws";
    import init, { JSONRPCClient } from "./pkg/node.js";
    import { webSocketTransport } from "./pkg/websocket.js";
    await init();
    const client = new JSONRPCClient(webSocketTransport("${url}", { WebSocket }));
    ${program}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], {
    cwd: fileURLToPath(root),
    stdio: ["pipe", "pipe", "inherit"],
  });
  afterThisTest(() => child.kill("SIGKILL"));
  return child;
}

describe("a process of Node with a client over a WebSocket", () => {
  it("exits soon after destroy() if the server is stopped", async function () {
    this.timeout(40_000);
    const server = await startServer();
    const child = start(
      server.url,
      `console.log(await client.request("echo", ["open"]));
       await new Promise((resolve) => process.stdin.once("data", resolve));
       process.stdin.destroy();
       client.destroy();
       console.log("destroyed");`,
    );
    await once(child.stdout, "data");
    await server.signal("SIGSTOP");
    child.stdin.write("go");
    await once(child.stdout, "data");
    const begin = Date.now();
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
    // `ws` itself waits for 30 s. The client waits for 2 s.
    assert.isBelow(Date.now() - begin, 15_000);
  });

  it("sends the notifications that precede destroy()", async function () {
    this.timeout(40_000);
    const server = await startServer();
    const url = await server.slowUrl({ up: 3_000_000 });
    const child = start(
      url,
      `await client.request("echo", []);
       client.notify("log", ["x".repeat(9_000_000)]);
       client.destroy();`,
    );
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
    const log = await server.logOnce((log) => requestsIn(log, "log").length === 1, "the notification has not arrived");
    // The log contains the beginning of a long text, and its length.
    assert.match(requestsIn(log, "log")[0], / 9000\d{3}$/);
  });
});
