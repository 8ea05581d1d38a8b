// A client of `kaiak serve` for a terminal: shows each proposed change as a diff, and asks whether to apply it.
//
//     node client.mjs INCIDENTS WORKSPACE -- kaiak serve --stdio --rules DIR
//     node client.mjs INCIDENTS WORKSPACE --socket PATH
//
// INCIDENTS is a file of the command `kaiak find`: one incident per line.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";

const [incidentsFile, workspace, option, ...rest] = process.argv.slice(2);
if (!rest.length || !["--", "--socket"].includes(option)) {
  console.error("usage: client.mjs INCIDENTS WORKSPACE (-- COMMAND ARGUMENTS... | --socket PATH)");
  process.exit(2);
}

/** Opens the streams of the server: a process of this client, or a socket. */
function openStreams() {
  if (option === "--socket") {
    const socket = connect(rest[0]);
    return { reader: socket, writer: socket, close: () => socket.end() };
  }
  const [program, ...serverArguments] = rest;
  const server = spawn(program, serverArguments, { stdio: ["pipe", "pipe", "inherit"] });
  return { reader: server.stdout, writer: server.stdin, close: () => server.stdin.end() };
}

const { reader, writer, close } = openStreams();
const connection = createMessageConnection(new StreamMessageReader(reader), new StreamMessageWriter(writer));
connection.onError(([error]) => console.error(`the connection failed: ${error.message}`));
connection.onClose(() => process.stdin.destroy());

/** Runs one of the three commands. */
const execute = (command, argument) =>
  connection.sendRequest("workspace/executeCommand", { command, arguments: [argument] });

const handlers = {
  progress: ({ percentage, description }) => console.log(`${percentage} % ${description}`),
  ai_response: ({ text, partial }) => partial && process.stdout.write(text),
  tool_call: ({ tool_name, operation, status }) => console.log(`[${tool_name}] ${operation}: ${status}`),
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
const incidents = readFileSync(incidentsFile, "utf8").split("\n").filter(Boolean).map(JSON.parse);
process.on("SIGINT", () =>
  execute("kaiak/delete_session", { session_id, force: true }).finally(() => process.exit(130)),
);
try {
  const { warnings } = await execute("kaiak/configure", { configuration: { workspace: { working_dir: workspace } } });
  for (const warning of warnings) {
    console.log(`warning: ${warning}`);
  }
  const result = await execute("kaiak/generate_fix", { session_id, incidents });
  console.log(`${result.status}: ${result.incident_count} incidents`);
  await execute("kaiak/delete_session", { session_id });
} catch (error) {
  console.error(`${error.message} (${error.code}) ${JSON.stringify(error.data ?? null)}`);
  process.exitCode = 1;
}
process.stdin.destroy();
connection.end();
close();
