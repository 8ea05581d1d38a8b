// The package in a realm whose prototypes were frozen before the import. Programs that run untrusted code freeze the
// prototypes.

import { assert } from "chai";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

it("the package works if the prototypes of the language are frozen", async () => {
  const source = `
    for (const { prototype } of [Error, Object, Array, Function, Promise, Map, Set, TypeError]) Object.freeze(prototype);
    const { default: init, JSONRPCClient, JSONRPCServer, RPCError, portTransport } = await import("./pkg/node.js");
    await init();
    const { port1, port2 } = new MessageChannel();
    const server = new JSONRPCServer(portTransport(port2)).method("fail", () => {
      throw new RPCError(7, "no", undefined, { cause: new TypeError("the cause") });
    });
    const client = new JSONRPCClient(portTransport(port1));
    const error = await client.request("fail").catch((error) => error);
    console.log(error.name, error.code, error.message, error.cause?.name, error instanceof RPCError);
    client.destroy();
    server.destroy();
  `;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", source], {
    cwd: new URL("../../", import.meta.url),
  });
  assert.equal(stdout, "RPCError 7 no TypeError true\n");
});
