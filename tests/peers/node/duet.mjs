// Tests duet-rpc with the npm package vscode-jsonrpc, by which Visual Studio Code calls language servers:
//
//   DUET_RPC=target/debug/duet-rpc node tests/peers/node/duet.mjs
//
// If PORTWAY_REPORT names a file, the counts of tests are written to this file, as JSON.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import rpc from "vscode-jsonrpc/node";
import { Suite } from "../../packaging/suite.mjs";

const METHODS = ["initialize", "listMethods", "describeMethods", "version", "setLogLevel", "shutdown"];
const LEVELS = ["debug", "info", "warn", "error"];
const suite = new Suite();

/** Starts a daemon and connects to it. `exit` resolves to the exit code of the daemon. */
function start() {
  const child = spawn(process.env.DUET_RPC, ["rpc"], { stdio: ["pipe", "pipe", "pipe"] });
  const log = [];
  child.stderr.setEncoding("utf8").on("data", (text) => log.push(text));
  const reader = new rpc.StreamMessageReader(child.stdout);
  const connection = rpc.createMessageConnection(reader, new rpc.StreamMessageWriter(child.stdin));
  const unexpectedMessages = [];
  connection.onError((error) => unexpectedMessages.push(error));
  connection.onUnhandledNotification((notification) => unexpectedMessages.push(notification));
  connection.listen();
  return { child, connection, log, unexpectedMessages, exit: once(child, "exit").then(([code]) => code) };
}

/** Runs a test with its own daemon. The daemon must exit with the code 0, and must send no unexpected message. */
const check = (name, work) =>
  suite.test(name, async () => {
    const daemon = start();
    try {
      await work(daemon);
      daemon.child.stdin.end();
      assert.equal(await daemon.exit, 0, `the daemon must exit with 0; it logged ${daemon.log.join("")}`);
      assert.deepEqual(daemon.unexpectedMessages, []);
    } finally {
      daemon.child.kill("SIGKILL");
      daemon.connection.dispose();
    }
  });

const errorOf = (call) =>
  call.then(
    (result) => assert.fail(`the call must fail, but returned ${JSON.stringify(result)}`),
    (error) => error,
  );

await check("all six methods return their results", async ({ connection, exit }) => {
  const { serverInfo, protocolVersion } = await connection.sendRequest("initialize");
  assert.equal(serverInfo.name, "duet-rpc");
  assert.match(serverInfo.version, /^\d+\.\d+\.\d+$/);
  assert.equal(protocolVersion, "2.0");
  assert.deepEqual(await connection.sendRequest("version"), { version: serverInfo.version });
  assert.deepEqual(
    (await connection.sendRequest("listMethods")).map(({ name }) => name),
    METHODS,
  );
  assert.deepEqual(
    (await connection.sendRequest("describeMethods")).map(({ name }) => name),
    METHODS,
  );
  assert.deepEqual(await connection.sendRequest("setLogLevel", { level: "Info" }), { level: "info", success: true });
  assert.deepEqual(await connection.sendRequest("shutdown"), { message: "Shutting down gracefully" });
  assert.equal(await exit, 0);
});

await check("errors arrive with code, message and data", async ({ connection }) => {
  const unknown = await errorOf(connection.sendRequest("frobnicate"));
  assert.equal(unknown.code, rpc.ErrorCodes.MethodNotFound);
  assert.match(unknown.message, /^Method not found/);
  const level = await errorOf(connection.sendRequest("setLogLevel", { level: "verbose" }));
  assert.equal(level.code, rpc.ErrorCodes.InvalidParams);
  assert.deepEqual([level.data.param, level.data.received, level.data.accepted], ["level", "verbose", LEVELS]);
  // vscode-jsonrpc puts a single value that is not an object into an array.
  const params = await errorOf(connection.sendRequest("version", 5));
  assert.deepEqual([params.code, params.data.received], [rpc.ErrorCodes.InvalidParams, "array"]);
});

await check("a thousand calls at the same time are answered in order", async ({ connection }) => {
  const order = [];
  const calls = Array.from({ length: 1_000 }, (_, number) =>
    connection.sendRequest("version").then(() => order.push(number)),
  );
  await Promise.all(calls);
  assert.deepEqual(
    order,
    Array.from({ length: 1_000 }, (_, number) => number),
  );
});

await check("notifications and cancellations get no response", async ({ connection, log }) => {
  await connection.sendNotification("setLogLevel", { level: "debug" });
  await connection.sendNotification("frobnicate", { text: "é€😀" });
  await connection.sendNotification("$/cancelRequest", { id: 99 });
  const source = new rpc.CancellationTokenSource();
  const call = connection.sendRequest("version", {}, source.token);
  source.cancel();
  // The call may also succeed, if the daemon answered the call before the cancellation arrived.
  await call.catch((error) => assert.equal(error.code, -32800));
  await connection.sendRequest("version");
  assert.match(log.join(""), /unknown notification method="frobnicate"/);
});

await check("a message with a content type is accepted", async ({ child, connection }) => {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "setLogLevel", params: { level: "debug" } });
  const type = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n";
  child.stdin.write(`${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  assert.ok(await connection.sendRequest("version"));
});

await check("the session continues after bytes that are not a message", async ({ child, connection }) => {
  child.stdin.write("a line that does not belong here\n");
  child.stdin.write("Content-Length: 5\r\n\r\nhello");
  child.stdin.write("Content-Length: 99999999999\r\n\r\n");
  assert.ok(await connection.sendRequest("version"));
});

await check("the notification shutdown ends the daemon", async ({ connection, exit }) => {
  await connection.sendNotification("shutdown");
  assert.equal(await exit, 0);
});

process.exit(suite.finish() ? 0 : 1);
