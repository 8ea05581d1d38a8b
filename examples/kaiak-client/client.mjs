// A client of `kaiak serve` for a terminal: shows each proposed change as a diff, and asks whether to apply it.
//
//     node client.mjs INCIDENTS WORKSPACE -- kaiak serve --stdio --rules DIR
//     node client.mjs INCIDENTS WORKSPACE --socket PATH
//
// INCIDENTS is a file with the output of `kaiak find`: one incident per line.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

const [incidentsFile, workspace, option, ...rest] = process.argv.slice(2);
if (!rest.length || !["--", "--socket"].includes(option)) {
  fail("usage: client.mjs INCIDENTS WORKSPACE (-- COMMAND ARGUMENTS... | --socket PATH)", 2);
}
const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = await import("vscode-jsonrpc/node").catch(
  () => fail("vscode-jsonrpc must be installed: run `npm install` in the folder of this client"),
);

/** Ends the client with an error. */
function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}

/** Connects to a socket. Waits up to 5 s for a server that has just been started. */
async function openSocket(path) {
  for (const deadline = Date.now() + 5000; ; await setTimeout(50)) {
    const socket = connect(path);
    try {
      await once(socket, "connect");
      return socket;
    } catch (error) {
      if (!["ENOENT", "ECONNREFUSED"].includes(error.code) || Date.now() > deadline) throw error;
    }
  }
}

/** Opens the streams of the server: a process of this client, or a socket. */
async function openStreams() {
  if (option === "--socket") {
    const socket = await openSocket(rest[0]);
    return { reader: socket, writer: socket };
  }
  const [program, ...serverArguments] = rest;
  const server = spawn(program, serverArguments, { stdio: ["pipe", "pipe", "inherit"] });
  await once(server, "spawn");
  return { reader: server.stdout, writer: server.stdin };
}

/** Reads the incidents: one JSON object per line. */
function readIncidents() {
  const lines = readFileSync(incidentsFile, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

let incidents = [];
try {
  incidents = readIncidents();
} catch (error) {
  fail(`${incidentsFile} must have the output of \`kaiak find\`: ${error.message}`);
}
if (!incidents.length) {
  console.log(`${incidentsFile} has no incident: there is nothing to fix`);
  process.exit();
}
const { reader, writer } = await openStreams().catch((error) => fail(`cannot reach the server: ${error.message}`));
const connection = createMessageConnection(new StreamMessageReader(reader), new StreamMessageWriter(writer));
let isDone = false;
/** Ends the client if the server has ended, because an open request would get no response. */
const onEnd = () => isDone || fail("the server has ended before its response");
connection.onClose(onEnd);
connection.onError(onEnd);

/** Runs a command of `kaiak serve`. */
const execute = (command, argument) =>
  connection.sendRequest("workspace/executeCommand", { command, arguments: [argument] });

const handlers = {
  progress: ({ percentage, description }) => console.log(`${percentage} % ${description}`),
  // A part of a text is not printed, because the whole text follows its parts.
  ai_response: ({ text, partial }) => partial || console.log(text),
  tool_call: ({ tool_name, operation, status, result }) =>
    console.log(`[${tool_name}] ${operation}: ${status}${result?.error ? `: ${result.error}` : ""}`),
  file_modification: ({ operation, file_path, risk_level, diff }) =>
    console.log(`${operation} ${file_path} (risk: ${risk_level})\n${diff}`),
  error: ({ error_code, message, details }) => console.log(`${error_code}: ${message}: ${details}`),
  system: ({ level, message }) => console.log(`${level}: ${message}`),
  user_interaction: ask,
};
for (const [name, handle] of Object.entries(handlers)) {
  connection.onNotification(`kaiak/stream/${name}`, ({ content }) => handle(content));
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** The questions are answered one after the other, because one person answers them. */
let questions = Promise.resolve();

/** Asks the user, and sends the answer. The end of the input is a denial. */
function ask({ interaction_id, prompt }) {
  questions = questions.then(async () => {
    console.log(`${prompt} [y/n]`);
    const { value } = await lines.next();
    if (isDone) return;
    const response_data = { approved: /^y/i.test(value ?? "") };
    const answer = { interaction_id, response_type: "approval", response_data };
    try {
      await connection.sendRequest("kaiak/interaction/respond", answer);
    } catch (error) {
      console.log(`the answer was not accepted: ${error.message}`);
    }
  });
}

connection.listen();
const session_id = randomUUID();
process.on("SIGINT", () => {
  isDone = true;
  process.exitCode = 130;
  // In a terminal, a server that is a child of this client also receives the signal, and may end first.
  connection.onClose(() => process.exit());
  execute("kaiak/delete_session", { session_id, force: true }).finally(() => process.exit());
});
try {
  const working_dir = resolve(workspace);
  const { warnings } = await execute("kaiak/configure", { configuration: { workspace: { working_dir } } });
  for (const warning of warnings) console.log(`warning: ${warning}`);
  const result = await execute("kaiak/generate_fix", { session_id, incidents });
  console.log(`${result.status}: ${result.incident_count} ${result.incident_count === 1 ? "incident" : "incidents"}`);
  await execute("kaiak/delete_session", { session_id });
} catch (error) {
  if (!isDone) fail(`${error.message} (${error.code}) ${JSON.stringify(error.data ?? null)}`);
}
isDone = true;
process.stdin.destroy();
connection.end();
writer.end();
