// The command `portway` and an editor, for the check of the page that the command serves.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** The time in which a program must start or answer, in ms. The machine may be busy. */
const TIMEOUT_MS = 60_000;

/** Returns the path that an environment variable contains. */
export function programOf(variable) {
  const path = process.env[variable];
  assert.ok(path, `${variable} must name a program; \`cargo xtask test --only inspector\` sets it`);
  return path;
}

/** Waits until `condition` returns a value other than undefined or false, and returns the value. */
export async function eventually(what, condition) {
  const end = Date.now() + TIMEOUT_MS;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    assert.ok(Date.now() < end, `the check waited ${TIMEOUT_MS} ms for ${what}`);
    await delay(20);
  }
}

/** A running command with a page. */
export class InspectingCommand {
  stderr = "";
  output = Buffer.alloc(0);

  constructor(args) {
    this.started = Date.now();
    this.child = spawn(programOf("PORTWAY_CLI"), args, { stdio: "pipe" });
    this.exited = once(this.child, "exit");
    this.child.stderr.on("data", (bytes) => (this.stderr += bytes));
    this.child.stdout.on("data", (bytes) => (this.output = Buffer.concat([this.output, bytes])));
    // The command may exit before it has read its whole input.
    this.child.stdin.on("error", () => {});
  }

  /** Returns the printed address. */
  address() {
    return eventually(`an address in ${this.stderr}`, () => /inspector is at (http:\S+)/.exec(this.stderr)?.[1]);
  }

  async exitCode() {
    const [code] = await this.exited;
    return code;
  }

  stop() {
    this.child.kill("SIGKILL");
  }

  /** Returns the process id of the program that the command has started. */
  program() {
    const { pid } = this.child;
    return eventually("the program", () => {
      const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
      return child ? Number(child) : undefined;
    });
  }
}

/** An editor whose language server is `portway tap`. The editor sends messages with the header `Content-Length`. */
export class Editor {
  #command;
  #read = 0;
  /** The received messages. */
  received = [];

  constructor(command) {
    this.#command = command;
    command.child.stdout.on("data", () => this.#decode());
  }

  send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.#command.child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  /** Sends a request, and returns its result. */
  async call(id, method, params) {
    this.send({ id, method, params });
    return this.response(id);
  }

  async response(id) {
    const { result } = await eventually(`the response with the id ${id}`, () =>
      this.received.find((message) => message.id === id && message.method === undefined),
    );
    return result;
  }

  #decode() {
    const bytes = this.#command.output;
    for (;;) {
      const end = bytes.indexOf("\r\n\r\n", this.#read);
      if (end === -1) return;
      const head = bytes.subarray(this.#read, end).toString();
      const length = Number(/Content-Length: (\d+)/i.exec(head)?.[1]);
      if (bytes.length < end + 4 + length) return;
      this.received.push(JSON.parse(bytes.subarray(end + 4, end + 4 + length)));
      this.#read = end + 4 + length;
    }
  }
}

/** Sends the messages of an editor that opens a file and requests a hover text. */
export async function replaySession(editor) {
  const capabilities = { textDocument: { hover: { contentFormat: ["markdown"] } } };
  await editor.call(1, "initialize", { processId: null, rootUri: null, capabilities });
  editor.send({ method: "initialized", params: {} });
  const document = { uri: "file:///a.py", languageId: "python", version: 1, text: "import os\nprint(  1)\n" };
  editor.send({ method: "textDocument/didOpen", params: { textDocument: document } });
  const hover = await editor.call(2, "textDocument/hover", PLACE);
  assert.match(JSON.stringify(hover), /print/);
  await eventually("the diagnostics", () =>
    editor.received.some(({ method }) => method === "textDocument/publishDiagnostics"),
  );
}

/** A position in the file of `replaySession`. */
export const PLACE = { textDocument: { uri: "file:///a.py" }, position: { line: 1, character: 1 } };
