// Runs the npm package vscode-jsonrpc in Node: `node vscode-jsonrpc.mjs decode | serve SOCKET | call`. The Rust program
// in `src` has parts of the same names, with the same commands and answers.

import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import {
  SocketMessageReader,
  SocketMessageWriter,
  StreamMessageReader,
  createMessageConnection,
} from "vscode-jsonrpc/node";

const CHUNK = 64 * 1024;
/** The minimum duration of a measurement, in milliseconds. */
const MIN_DURATION_MS = 60;

const [part, ...words] = process.argv.slice(2);
if (part === "decode") answerEach(decode);
else if (part === "call") answerEach(call);
else if (part === "serve") serve(words[0]);
else throw new Error(`the part must be decode, call or serve, got ${part}`);

/** Reads one command from each line of standard input, and answers with a line of JSON. */
async function answerEach(answer) {
  console.log("{}");
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await answer(...line.split(" "))));
}

const streams = new Map();

async function decode(path, count) {
  if (!streams.has(path)) streams.set(path, readFileSync(path));
  const stream = streams.get(path);
  const start = performance.now();
  let bytes = 0;
  for (; performance.now() - start < MIN_DURATION_MS; bytes += stream.length) await decodeOnce(stream, Number(count));
  return { mbs: bytes / 1e3 / (performance.now() - start) };
}

function decodeOnce(stream, expected) {
  return new Promise((resolve, reject) => {
    const input = new PassThrough({ highWaterMark: CHUNK });
    const reader = new StreamMessageReader(input);
    let count = 0;
    reader.onError(reject);
    reader.listen(() => {
      count += 1;
      if (count === expected) resolve();
    });
    let at = 0;
    const write = () => {
      while (at < stream.length) {
        const chunk = stream.subarray(at, at + CHUNK);
        at += chunk.length;
        if (!input.write(chunk)) return input.once("drain", write);
      }
      input.end();
    };
    write();
  });
}

function connectionOn(socket) {
  const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
  // A client that disconnects is not an error.
  connection.onError(() => {});
  return connection;
}

function serve(path) {
  const server = createServer((socket) => {
    const connection = connectionOn(socket);
    connection.onRequest("echo", ({ text, number }) => ({ text, number }));
    connection.listen();
  });
  server.listen(path);
}

async function call(path, count, depth) {
  const socket = connect(path);
  const connection = connectionOn(socket);
  connection.listen();
  const total = Number(count);
  const start = performance.now();
  let sent = 0;
  const makeCalls = async () => {
    while (sent < total) {
      const number = sent++;
      const echo = await connection.sendRequest("echo", { text: "hello", number });
      if (echo.number !== number) throw new Error(`the result must have number ${number}, got ${JSON.stringify(echo)}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(total, Number(depth)) }, makeCalls));
  const rps = total / ((performance.now() - start) / 1e3);
  connection.dispose();
  socket.destroy();
  return { rps };
}
