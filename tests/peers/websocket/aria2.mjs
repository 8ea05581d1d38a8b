// Tests `portway/websocket` with aria2, a download program with a JSON-RPC server:
// `node tests/peers/websocket/aria2.mjs`. PORTWAY_ARIA2 names the program.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";
import init, { CallError, JSONRPCPeer } from "../../../pkg/node.js";
import { webSocketTransport } from "../../../pkg/websocket.js";
import { Suite } from "../../packaging/suite.mjs";
import { eventually, freePort, Program, programOf } from "./programs.mjs";

const SECRET = "s3cret";
const TOKEN = `token:${SECRET}`;
const FILE = Buffer.alloc(300_000, "0123456789abcdef");

await init();
const suite = new Suite();
const folder = mkdtempSync(join(tmpdir(), "portway-aria2-"));
const files = createServer((request, response) => {
  if (request.url === "/file.bin") response.end(FILE);
  else response.writeHead(404).end();
}).listen(0, "127.0.0.1");
await once(files, "listening");
const site = `http://127.0.0.1:${files.address().port}`;

const port = await freePort();
// aria2 uses a proxy that the environment names. Such a proxy cannot reach the file server, so `--no-proxy` is set.
const words = [
  "--enable-rpc",
  `--rpc-listen-port=${port}`,
  `--rpc-secret=${SECRET}`,
  "--no-conf",
  "--no-proxy=127.0.0.1",
  `--dir=${folder}`,
];
const aria2 = new Program(programOf("PORTWAY_ARIA2"), words);
await aria2.listens(port);

const events = [];
const peer = new JSONRPCPeer(webSocketTransport(`ws://127.0.0.1:${port}/jsonrpc`, { WebSocket }));
for (const name of ["aria2.onDownloadStart", "aria2.onDownloadComplete", "aria2.onDownloadError"])
  peer.onNotify(name, ([{ gid }]) => events.push([name, gid]));

/** Waits for the notification `last` about a download. Returns the names of all notifications about this download. */
const namesOf = (gid, last) =>
  eventually(last, () => {
    const names = events.filter(([, other]) => other === gid).map(([name]) => name);
    return names.includes(last) ? names : undefined;
  });

await suite.test("aria2 returns its version", async () => {
  const { version, enabledFeatures } = await peer.request("aria2.getVersion", [TOKEN]);
  assert.match(version, /^\d+\.\d+/);
  assert.ok(Array.isArray(enabledFeatures));
});

await suite.test("a completed download is notified", async () => {
  const gid = await peer.request("aria2.addUri", [TOKEN, [`${site}/file.bin`]]);
  assert.deepEqual(await namesOf(gid, "aria2.onDownloadComplete"), [
    "aria2.onDownloadStart",
    "aria2.onDownloadComplete",
  ]);
  assert.ok(readFileSync(join(folder, "file.bin")).equals(FILE), "the file differs");
  const status = await peer.request("aria2.tellStatus", [TOKEN, gid, ["status", "completedLength"]]);
  assert.deepEqual(status, { status: "complete", completedLength: String(FILE.length) });
});

await suite.test("a failed download is notified", async () => {
  const gid = await peer.request("aria2.addUri", [TOKEN, [`${site}/missing.bin`]]);
  assert.deepEqual(await namesOf(gid, "aria2.onDownloadError"), ["aria2.onDownloadStart", "aria2.onDownloadError"]);
});

await suite.test("a call with a wrong token fails after a later call is answered", async () => {
  const order = [];
  const refused = peer.request("aria2.getVersion", ["token:wrong"]).then(
    () => assert.fail("a call with a wrong token must fail"),
    (error) => {
      order.push("refused");
      return error;
    },
  );
  await peer.request("aria2.getVersion", [TOKEN]);
  order.push("answered");
  const error = await refused;
  assert.ok(!(error instanceof CallError), "the error must come from the answer of the peer");
  assert.deepEqual([error.code, error.message], [1, "Unauthorized"]);
  assert.deepEqual(order, ["answered", "refused"]);
});

await suite.test("a call of an unknown method returns an error of the peer", async () => {
  const error = await peer.request("aria2.frobnicate", [TOKEN]).catch((error) => error);
  assert.deepEqual([error.code, error.message], [1, "No such method: aria2.frobnicate"]);
});

await suite.test("calls after a restart of aria2 succeed", async () => {
  await aria2.end();
  const again = new Program(programOf("PORTWAY_ARIA2"), words);
  try {
    const call = peer.request("aria2.getVersion", [TOKEN], { timeout: 60_000, idempotent: true });
    assert.match((await call).version, /^\d+\.\d+/);
  } finally {
    await again.end();
  }
});

peer.destroy();
files.close();
files.closeAllConnections();
rmSync(folder, { recursive: true });
process.exit(suite.finish() ? 0 : 1);
