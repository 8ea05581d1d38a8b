// Creates the streams for the parts "decode" and "events". The messages resemble those of an editor. The streams of
// a part have about the same length.

import { mkdirSync, writeFileSync } from "node:fs";

const BYTES = 8_000_000;

/** The length of a stream of server-sent events. Such a stream fits into the cache of a core, as received bytes do. */
const EVENT_BYTES = 500_000;

const frame = (message) => {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** Returns a request of about 150 bytes. */
const request = (id) =>
  frame({
    id,
    method: "textDocument/hover",
    params: { textDocument: { uri: "file:///src/main.rs" }, position: { line: id % 997, character: 7 } },
  });

/** Returns a notification of about 4 KB. Most of the text is one string: source text with quotes and line ends. */
const change = (version) => {
  const lines = Array.from(
    { length: 66 },
    (_, line) => `    let answer_${line} = ask("question ${version % 89}", ${line})?; // nothing else\n`,
  );
  const textDocument = { uri: "file:///src/main.rs", version };
  return frame({
    method: "textDocument/didChange",
    params: { textDocument, contentChanges: [{ text: lines.join("") }] },
  });
};

/** Returns a request of about 100 KB with many small members. */
const dense = (id) => {
  const modules = Array.from({ length: 1_150 }, (_, module) => ({
    id: module,
    name: `src/components/module-${module}/index.tsx`,
    size: 37.5 + module,
    external: module % 3 === 0,
  }));
  return frame({ id, method: "build", params: { modules } });
};

/** Returns a message of one of the three kinds. In a long stream, each kind has a third of the bytes. */
const mixed = (n) => (n % 700 === 699 ? dense(n) : n % 28 === 27 ? change(n) : request(n));

/** Writes the streams. Returns the path of each stream and the number of its messages. */
export function writeStreams(folder) {
  mkdirSync(folder, { recursive: true });
  return Object.fromEntries(
    Object.entries({ request, change, dense, mixed }).map(([name, make]) => {
      const frames = [];
      for (let bytes = 0; bytes < BYTES; bytes += frames.at(-1).length) frames.push(make(frames.length + 1));
      const path = `${folder}/${name}.bin`;
      writeFileSync(path, frames.join(""));
      return [name, { path, count: frames.length }];
    }),
  );
}

/** Returns an event with a response of 60 to 1 200 bytes, as a server with continued streams sends it. */
const typicalEvent = (number) => {
  const text = `the result of the call number ${number}, `.repeat(1 + (number % 17));
  const message = { jsonrpc: "2.0", id: number, result: { content: [{ type: "text", text }], isError: false } };
  return `event: message\nid: 0-${number}\ndata: ${JSON.stringify(message)}\n\n`;
};

/** Returns the same event with CRLF as the end of each line, as servers in Python send it. */
const crlfEvent = (number) => typicalEvent(number).replaceAll("\n", "\r\n");

/** Returns an event with a progress notification. */
const smallEvent = (number) => {
  const params = { progressToken: 1, progress: number };
  return `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`;
};

/** Writes the streams of server-sent events. Returns the path, and the numbers of events and lines, of each stream. */
export function writeEvents(folder) {
  mkdirSync(folder, { recursive: true });
  return Object.fromEntries(
    Object.entries({ typical: typicalEvent, crlf: crlfEvent, small: smallEvent }).map(([name, make]) => {
      const events = [];
      for (let bytes = 0; bytes < EVENT_BYTES; bytes += events.at(-1).length) events.push(make(events.length + 1));
      const path = `${folder}/events-${name}.txt`;
      const text = events.join("");
      writeFileSync(path, text);
      return [name, { path, events: events.length, lines: text.split("\n").length - 1 }];
    }),
  );
}
