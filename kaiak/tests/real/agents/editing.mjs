// An agent on the official SDK of the Agent Client Protocol. In each turn, it replaces `javax.servlet` by
// `jakarta.servlet` in the Java files of its working directory.
//
//     node editing.mjs WRITES QUESTIONS [LOG]
//
// WRITES is `client` (the agent reads and writes files by the requests fs/read_text_file and fs/write_text_file) or
// `direct` (the agent itself reads and writes the files). QUESTIONS is `asks` (requests permission, and obeys),
// `disobeys` (requests permission, and writes nevertheless) or `silent` (requests no permission). The agent appends its
// process id and its steps to LOG.
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [writes, questions, log] = process.argv.slice(2);
const record = (text) => log && appendFileSync(log, `${text}\n`);
record(`pid ${process.pid}`);
const sessions = new Map();

const options = [
  { kind: "allow_always", name: "Allow always", optionId: "always" },
  { kind: "allow_once", name: "Allow", optionId: "yes" },
  { kind: "reject_once", name: "Reject", optionId: "no" },
];

/** Returns the paths of the Java files below the working directory. */
function javaFiles(cwd) {
  const names = readdirSync(cwd, { recursive: true });
  return names.filter((name) => name.endsWith(".java")).map((name) => `${cwd}/${name}`);
}

/** Edits one file. */
async function edit(client, sessionId, path, toolCallId, signal) {
  const update = (update) => client.notify(methods.client.session.update, { sessionId, update });
  const oldText =
    writes === "client"
      ? (await client.request(methods.client.fs.readTextFile, { sessionId, path })).content
      : readFileSync(path, "utf8");
  const newText = oldText.replaceAll("javax.servlet", "jakarta.servlet");
  if (newText === oldText) return;
  const content = [{ type: "diff", path, oldText, newText }];
  const toolCall = { toolCallId, title: `Edit ${path}`, kind: "edit", status: "pending", content };
  await update({ sessionUpdate: "tool_call", ...toolCall });
  if (questions !== "silent") {
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall,
      options,
    });
    record(`permission ${outcome.optionId ?? outcome.outcome}`);
    if (signal.aborted || outcome.outcome === "cancelled") return;
    if (outcome.optionId !== "yes" && questions !== "disobeys") {
      await update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
      return;
    }
  }
  if (writes === "client") await client.request(methods.client.fs.writeTextFile, { sessionId, path, content: newText });
  else writeFileSync(path, newText);
  record("written");
  await update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
}

async function prompt({ sessionId }, client) {
  const session = sessions.get(sessionId);
  session.turn = new AbortController();
  const { signal } = session.turn;
  const content = { type: "text", text: "I replace the import." };
  await client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content },
  });
  for (const path of javaFiles(session.cwd)) {
    session.tools += 1;
    try {
      await edit(client, sessionId, path, `tool-${session.tools}`, signal);
    } catch (error) {
      record(`error ${error.message}`);
    }
  }
  return { stopReason: signal.aborted ? "cancelled" : "end_turn" };
}

agent({ name: "editing-agent" })
  .onRequest("initialize", () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: { loadSession: false } }))
  .onRequest("session/new", ({ params }) => {
    const sessionId = `session-${sessions.size + 1}`;
    sessions.set(sessionId, { cwd: params.cwd, tools: 0 });
    return { sessionId };
  })
  .onRequest("session/prompt", ({ params, client }) => prompt(params, client))
  .onNotification("session/cancel", ({ params }) => {
    record("cancelled");
    sessions.get(params.sessionId)?.turn?.abort();
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
