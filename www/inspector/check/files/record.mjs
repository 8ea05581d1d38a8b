// Records the files of this folder from real programs: `node www/inspector/check/files/record.mjs [aria2|ganache|
// rpc-websockets|demo|har]`. PORTWAY_CLI is the path of `portway`, PORTWAY_ARIA2 is the path of `aria2c`, and
// PORTWAY_GANACHE is the path of the JavaScript file of ganache. `../file-steps.mjs` opens the files in the inspector.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "rpc-websockets";
import { WebSocket } from "ws";
import { launch } from "../../../../tests/chromium.mjs";
import { eventually, freePort, Program, programOf } from "../../../../tests/peers/websocket/programs.mjs";

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const portway = programOf("PORTWAY_CLI");
const folder = mkdtempSync(join(tmpdir(), "portway-files-"));

/** A client that uses only a WebSocket. It stores the received texts. */
class Client {
  received = [];

  constructor(url) {
    this.socket = new WebSocket(url);
    this.socket.on("message", (data) => this.received.push(data.toString()));
  }

  send(id, method, params) {
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  }

  /** Waits for a received text that contains all of `parts`, and returns this text, parsed as JSON. */
  async until(...parts) {
    const has = (text) => parts.every((part) => text.includes(part));
    return JSON.parse(await eventually(parts.join(" "), () => this.received.find(has)));
  }
}

/**
 * Records the messages between a client and the server at `to`, with `portway tap`. `talk` sends the messages of the
 * client.
 */
async function record(name, to, talk) {
  const file = pathOf(`${name}.jsonl`);
  const tap = new Program(portway, ["tap", "--listen", "ws://127.0.0.1:0/", "--to", to, "--to-file", file]);
  const client = new Client(await tap.matches(/listening on (\S+)/));
  await once(client.socket, "open");
  await talk(client);
  client.socket.close(1000);
  await once(client.socket, "close");
  await tap.end("SIGTERM");
}

async function startDemo(...words) {
  const server = new Program(portway, ["serve", "--ws", "127.0.0.1:0", "--demo", ...words]);
  return { server, url: await server.matches(/(ws:\/\/\S+)/) };
}

const recordings = {
  /** Calls with a token, a download with its notifications, and two errors. */
  async aria2() {
    const fileServer = createServer((request, response) => {
      if (request.url === "/file.bin") response.end(Buffer.alloc(300_000, "0123456789abcdef"));
      else response.writeHead(404).end();
    }).listen(0, "127.0.0.1");
    await once(fileServer, "listening");
    const port = await freePort();
    const words = [`--rpc-listen-port=${port}`, "--rpc-secret=s3cret", "--no-conf", "--no-proxy=127.0.0.1"];
    const aria2 = new Program(programOf("PORTWAY_ARIA2"), ["--enable-rpc", ...words, `--dir=${folder}`]);
    await aria2.listens(port);
    await record("aria2", `ws://127.0.0.1:${port}/jsonrpc`, async (client) => {
      client.send(1, "aria2.getVersion", ["token:s3cret"]);
      await client.until('"id":1');
      client.send(2, "aria2.addUri", ["token:s3cret", [`http://127.0.0.1:${fileServer.address().port}/file.bin`]]);
      const { result } = await client.until('"id":2');
      await client.until("onDownloadComplete");
      client.send(3, "aria2.tellStatus", ["token:s3cret", result, ["status", "completedLength"]]);
      client.send(4, "aria2.frobnicate", ["token:s3cret"]);
      client.send(5, "aria2.getVersion", ["token:wrong"]);
      for (const id of [3, 4, 5]) await client.until(`"id":${id}`);
    });
    await aria2.end();
    fileServer.closeAllConnections();
    fileServer.close();
  },

  /** A subscription to `newHeads`, with two blocks. */
  async ganache() {
    const port = await freePort();
    const words = ["--server.port", port, "--server.host", "127.0.0.1", "--miner.blockTime", 1, "--logging.quiet"];
    const ganache = new Program(process.execPath, [programOf("PORTWAY_GANACHE"), ...words.map(String)]);
    await ganache.listens(port);
    await record("ganache", `ws://127.0.0.1:${port}/`, async (client) => {
      client.send(1, "eth_subscribe", ["newHeads"]);
      const { result } = await client.until('"id":1');
      await eventually("two blocks", () => (client.received.length > 2 ? true : undefined));
      client.send(2, "eth_unsubscribe", [result]);
      await client.until('"id":2');
    });
    await ganache.end();
  },

  /** Events, which are not JSON-RPC messages, and a call of an unknown method. */
  async "rpc-websockets"() {
    const port = await freePort();
    const server = new Server({ port, host: "127.0.0.1" });
    server.register("add", ([a, b]) => a + b);
    server.event("tick");
    await record("rpc-websockets", `ws://127.0.0.1:${port}/`, async (client) => {
      client.send(1, "rpc.on", ["tick"]);
      await client.until('"id":1');
      client.send(2, "add", [1, 2]);
      await client.until('"id":2');
      for (const n of [1, 2, 3]) server.emit("tick", { n });
      await client.until('"notification"', '"n":3');
      client.send(3, "missing", []);
      await client.until('"id":3');
    });
    await server.close();
  },

  /** Calls of each method of the demo, its heartbeat notification, a batch, and a text that is not JSON. */
  async demo() {
    const { server, url } = await startDemo();
    await record("demo", url, async (client) => {
      client.send(1, "ping");
      client.send("two", "echo", { user: "Ada", list: [1, { deep: true }] });
      client.socket.send('[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"missing"}]');
      await client.until('"id":4');
      await client.until("stream.heartbeat");
      client.socket.send("{nope");
      await client.until("-32700");
    });
    await server.end();
  },

  /** The messages of a page in Chromium. The file has the same members as a HAR file that Chromium exports. */
  async har() {
    const site = createServer((_, response) => response.end("<!doctype html>")).listen(0, "127.0.0.1");
    await once(site, "listening");
    const origin = `http://127.0.0.1:${site.address().port}`;
    const { server, url } = await startDemo("--origin", origin);
    const browser = await launch();
    const page = await browser.newPage();
    const session = await page.context().newCDPSession(page);
    const messages = [];
    let handshake;
    let clockOffset;
    const add = (type) => (event) => {
      const { opcode, payloadData } = event.response;
      messages.push({ type, time: event.timestamp + clockOffset, opcode, data: payloadData });
    };
    session.on("Network.webSocketWillSendHandshakeRequest", ({ timestamp, wallTime, request }) => {
      clockOffset = wallTime - timestamp;
      handshake = { wallTime, request };
    });
    session.on("Network.webSocketFrameSent", add("send"));
    session.on("Network.webSocketFrameReceived", add("receive"));
    await session.send("Network.enable");
    await page.goto(origin);
    await page.evaluate((address) => {
      const socket = new WebSocket(address);
      globalThis.socket = socket;
      const call = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      socket.onopen = () => {
        call(1, "ping");
        call(2, "echo", { text: "é 😀" });
        call(3, "missing");
      };
    }, url);
    const hasId = (id) => messages.some(({ type, data }) => type === "receive" && data.includes(`"id":${id},`));
    const answered = () => ([1, 2, 3].every(hasId) ? true : undefined);
    await eventually("the responses", answered);
    const version = browser.version();
    await browser.close();
    await server.end();
    site.close();
    const entry = {
      _resourceType: "websocket",
      _webSocketMessages: messages,
      startedDateTime: new Date(handshake.wallTime * 1000).toISOString(),
      request: { method: "GET", url, httpVersion: "HTTP/1.1", headers: [], cookies: [] },
      response: { status: 101, statusText: "Switching Protocols" },
    };
    const creator = { name: "WebInspector", version };
    const har = { log: { version: "1.2", creator, pages: [], entries: [entry] } };
    writeFileSync(pathOf("chromium.har"), `${JSON.stringify(har, null, 1)}\n`);
  },
};

for (const [name, run] of Object.entries(recordings)) {
  if (process.argv[2] && process.argv[2] !== name) continue;
  await run();
  console.log(`recorded ${name}`);
}
rmSync(folder, { recursive: true });
process.exit(0);
