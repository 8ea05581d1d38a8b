// Links between two programs, through `portway tap`. Each function returns the records that the command has written,
// and the log of the messages that both ends have sent and received.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { WebSocket, WebSocketServer } from "ws";
import { eventually, within } from "../../peers/websocket/programs.mjs";
import { RandomEnd, randomJson } from "./random.js";

/** Maximum number of messages that an end sends at once. */
const TURN = 40;

/**
 * Maximum number of messages of an end that are not in the file yet. The queue of a tap has at most 1 MiB. If the tap
 * does not run for a long time, its queue becomes full, and further messages are not recorded.
 */
const MAX_UNWRITTEN = 500;

/** A running `portway tap`. */
class Tapping {
  stderr = "";

  constructor(file, words) {
    this.file = file;
    this.child = spawn(process.env.PORTWAY_CLI, ["tap", "--to-file", file, ...words], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.exit = once(this.child, "exit");
    this.child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
  }

  /** Returns the address on which the command listens. */
  listens() {
    return eventually("portway tap to listen", () => {
      assert.equal(this.child.exitCode, null, this.stderr);
      return /listening on (\S+)/.exec(this.stderr)?.[1];
    });
  }

  /** Waits until the file has this number of messages of one direction. */
  async untilWritten(direction, count) {
    const part = `"direction":"${direction}"`;
    await eventually("the records in the file", () =>
      readFileSync(this.file, "utf8").split(part).length > count ? true : undefined,
    );
  }

  /** Ends the command, and returns the text of its records. */
  async end() {
    this.child.kill("SIGTERM");
    await within("the end of portway tap", this.exit);
    return readFileSync(this.file, "utf8");
  }
}

const frame = (text) => Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);

/** Reads frames with Content-Length. */
class Frames {
  #bytes = Buffer.alloc(0);

  /** Returns the texts of the frames that are complete. */
  push(bytes) {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const texts = [];
    for (;;) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(this.#bytes.subarray(0, Math.max(end, 0)).toString())?.[1]);
      if (end < 0 || this.#bytes.length < end + 4 + length) return texts;
      texts.push(this.#bytes.subarray(end + 4, end + 4 + length).toString());
      this.#bytes = this.#bytes.subarray(end + 4 + length);
    }
  }
}

/**
 * Sends random messages from both ends at once, until `count` messages have arrived. Both ends have `send(texts)`. With
 * `onlyJson`, each message is JSON.
 */
async function exchange(tapping, { near, far }, log, random, count, onlyJson) {
  const ends = [
    {
      end: new RandomEnd(random, "near"),
      ...near,
      direction: "sent",
      sent: log.near.sent,
      arrived: log.far.received,
      taken: 0,
    },
    {
      end: new RandomEnd(random, "far"),
      ...far,
      direction: "received",
      sent: log.far.sent,
      arrived: log.near.received,
      taken: 0,
    },
  ];
  for (const [own, other] of [ends, [...ends].reverse()]) own.received = other.arrived;
  await Promise.all(
    ends.map(async (own) => {
      let written = 0;
      while (own.sent.length < count / 2) {
        for (const text of own.received.slice(own.taken)) own.end.receive(text);
        own.taken = own.received.length;
        const texts = Array.from({ length: 1 + random(Math.min(TURN, count / 2 - own.sent.length)) }, () =>
          own.end.next(onlyJson),
        );
        own.sent.push(...texts);
        await own.send(texts);
        if (own.sent.length < written + MAX_UNWRITTEN) continue;
        written = own.sent.length;
        await tapping.untilWritten(own.direction, written);
      }
    }),
  );
  for (const { sent, arrived } of ends)
    await eventually("all messages to arrive", () => (arrived.length >= sent.length ? true : undefined));
}

const newLog = () => ({ near: { sent: [], received: [] }, far: { sent: [], received: [] } });

/** Two programs on a Unix socket. The bytes are written in random pieces. */
export async function unixSocket(folder, random, count) {
  const log = newLog();
  const [listen, to] = [join(folder, "tap.sock"), join(folder, "server.sock")];
  const server = createServer().listen(to);
  await once(server, "listening");
  const tapping = new Tapping(join(folder, "unix.jsonl"), ["--listen", listen, "--to", to]);
  await tapping.listens();
  const client = createConnection(listen);
  const [[accepted]] = await Promise.all([once(server, "connection"), once(client, "connect")]);
  const onSocket = (socket, received) => {
    const frames = new Frames();
    socket.on("data", (bytes) => received.push(...frames.push(bytes)));
    return {
      async send(texts) {
        let bytes = Buffer.concat(texts.map(frame));
        while (bytes.length > 0) {
          const length = 1 + random(random(3) ? bytes.length : 50);
          if (!socket.write(bytes.subarray(0, length))) await once(socket, "drain");
          bytes = bytes.subarray(length);
        }
        await new Promise(setImmediate);
      },
    };
  };
  const ends = { near: onSocket(client, log.near.received), far: onSocket(accepted, log.far.received) };
  await exchange(tapping, ends, log, random, count, true);
  const closed = once(accepted, "close");
  client.end();
  await within("the end of the connection", closed);
  server.close();
  return { text: await tapping.end(), log };
}

/** Two programs on a WebSocket. Some of their messages are not JSON. */
export async function webSocket(folder, random, count) {
  const log = newLog();
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const to = `ws://127.0.0.1:${server.address().port}/`;
  const tapping = new Tapping(join(folder, "ws.jsonl"), ["--listen", "ws://127.0.0.1:0/", "--to", to]);
  const client = new WebSocket(await tapping.listens());
  const [[accepted]] = await Promise.all([once(server, "connection"), once(client, "open")]);
  const onSocket = (socket, received) => {
    socket.on("message", (data) => received.push(data.toString()));
    return {
      send: (texts) => Promise.all(texts.map((text) => new Promise((sent) => socket.send(text, sent)))),
    };
  };
  const ends = { near: onSocket(client, log.near.received), far: onSocket(accepted, log.far.received) };
  await exchange(tapping, ends, log, random, count, false);
  const closed = once(accepted, "close");
  client.close(1000, "the story ends");
  await within("the end of the WebSocket", closed);
  server.close();
  return { text: await tapping.end(), log };
}

/**
 * An editor and pylsp. `portway tap` starts a script with the name pylsp. The script starts pylsp, and copies the bytes
 * of both directions to files.
 */
export async function languageServer(folder, random, count) {
  const log = newLog();
  const program = join(folder, "pylsp");
  const script = `#!/bin/sh\ntee '${folder}/input' | '${process.env.PORTWAY_PYLSP}' 2>'${folder}/errors' | tee '${folder}/output'\n`;
  writeFileSync(program, script, { mode: 0o755 });
  const tapping = new Tapping(join(folder, "pylsp.jsonl"), ["--", program]);
  const { stdin, stdout } = tapping.child;
  const [frames, pending] = [new Frames(), new Set()];
  let arrived = () => {};
  stdout.on("data", (bytes) => {
    for (const text of frames.push(bytes)) {
      log.near.received.push(text);
      pending.delete(JSON.parse(text).id);
    }
    arrived();
  });
  const until = async (what, condition) => {
    while (!condition())
      await within(
        what,
        new Promise((resolve) => {
          arrived = resolve;
        }),
      );
  };
  const send = (message) => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    if (message.id !== undefined) pending.add(message.id);
    log.near.sent.push(text);
    stdin.write(frame(text));
  };
  const crossed = () => log.near.sent.length + log.near.received.length;
  const uri = "file:///story.py";
  const answered = () => until("pylsp to answer", () => pending.size === 0);
  send({ id: 0, method: "initialize", params: { processId: null, rootUri: null, capabilities: {} } });
  await answered();
  send({ method: "initialized", params: {} });
  const text = "import os\n\n\ndef add(a, b):\n    return a + b\n";
  send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "python", version: 1, text } } });
  for (let id = 1; crossed() < count; id += 1) {
    const kind = random(100);
    const place = { textDocument: { uri }, position: { line: 3, character: 5 } };
    if (kind === 0) send({ id, method: "textDocument/hover", params: place });
    else if (kind === 1) send({ id, method: "textDocument/documentSymbol", params: { textDocument: { uri } } });
    else if (kind < 60) send({ method: "$/story", params: { value: randomJson(random) } });
    else send({ id: random(2) ? id : `story ${id}`, method: "story/unknown", params: { value: randomJson(random) } });
    await until("pylsp to answer", () => pending.size < 50);
    if (log.near.sent.length % MAX_UNWRITTEN === 0) await tapping.untilWritten("sent", log.near.sent.length);
  }
  await answered();
  send({ id: "end", method: "shutdown" });
  await answered();
  send({ method: "exit" });
  stdin.end();
  const [code] = await within("the end of pylsp", tapping.exit);
  assert.equal(code, 0, tapping.stderr);
  const logged = (name) => new Frames().push(readFileSync(join(folder, name)));
  log.far = { sent: logged("output"), received: logged("input") };
  return { text: readFileSync(tapping.file, "utf8"), log };
}
