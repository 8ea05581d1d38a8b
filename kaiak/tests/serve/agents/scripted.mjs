// An agent of the Agent Client Protocol.
//
//     node scripted.mjs BEHAVIOUR [LOG]
//
// BEHAVIOUR selects one of the `turns`, or a fault outside of turns. If the working directory contains a file `fine`,
// each turn has the behaviour `answer`. The agent appends the prompts and the answers of its client to the file LOG.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createInterface } from "node:readline";

const [behaviour, log] = process.argv.slice(2);
const pending = new Map();
let lastId = 0;
/** Ends the turn that waits. */
let cancelTurn = () => {};

const record = (text) => log && appendFileSync(log, `${text}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (update) => send({ method: "session/update", params: { sessionId: "s", update } });
const text = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const tool = (id, status, more = {}) =>
  update({ sessionUpdate: status === "pending" ? "tool_call" : "tool_call_update", toolCallId: id, status, ...more });

function request(method, params) {
  lastId += 1;
  const id = `agent-${lastId}`;
  send({ id, method, params: { sessionId: "s", ...params } });
  return new Promise((resolve) => pending.set(id, resolve));
}

const ONCE = [
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "once", name: "Once", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

const permission = async (toolCall, options = ONCE) => {
  const answer = await request("session/request_permission", { toolCall, options });
  record(`permission ${JSON.stringify(answer.result?.outcome ?? answer.error)}`);
  return answer.result?.outcome?.optionId === "once";
};

const FILE = "src/A.java";
const fixed = () => readFileSync(FILE, "utf8").replaceAll("javax.servlet", "jakarta.servlet");
const diff = () => ({ type: "diff", path: FILE, oldText: readFileSync(FILE, "utf8"), newText: fixed() });

/** Writes a file, and creates its folders. */
const put = (path, text) => {
  mkdirSync(path.replace(/\/[^/]*$/, ""), { recursive: true });
  writeFileSync(path, text);
};

/** Paths in folders that the default patterns exclude. */
const TOOL_FILES = [".git/config", "target/kept.txt", "node_modules/a/index.js"];

/** Functions that put a link, a pipe, a folder or a file into the copy where the server does not accept it. */
const replacements = {
  "file-to-link"() {
    rmSync(FILE);
    symlinkSync(`${log}.outside/A.java`, FILE);
  },
  "file-to-pipe"() {
    rmSync(FILE);
    execFileSync("mkfifo", [FILE]);
  },
  "file-to-folder"() {
    rmSync(FILE);
    put(`${FILE}/B.java`, "class B {}\n");
  },
  "folder-to-link"() {
    rmSync("src", { recursive: true });
    symlinkSync(`${log}.outside`, "src");
  },
  "folder-to-file"() {
    rmSync("src", { recursive: true });
    writeFileSync("src", "no folder");
  },
  "new-link"() {
    symlinkSync(`${log}.outside/A.java`, "src/B.java");
  },
  "new-pipe"() {
    execFileSync("mkfifo", ["src/B.java"]);
  },
  "unwritable-file"() {
    execFileSync("chmod", ["444", FILE]);
    rmSync(FILE);
    symlinkSync("missing", FILE);
  },
};

/**
 * The time since the start of this process after which `writeWithoutPause` ends, in milliseconds. Without this limit,
 * an agent whose test was killed would fill the disk.
 */
const MAX_WRITING_MS = 15_000;

/** Creates files without a pause, until this process is killed or `MAX_WRITING_MS` have passed. */
function writeWithoutPause(number = 0) {
  writeFileSync(`file${number}`, "of the agent");
  if (performance.now() < MAX_WRITING_MS) setImmediate(writeWithoutPause, number + 1);
}

const turns = {
  // Each of these turns records whether the copy has been restored, and then calls one of `replacements`.
  ...Object.fromEntries(
    Object.entries(replacements).map(([name, replace]) => [
      name,
      async () => {
        const isRestored = lstatSync("src").isDirectory() && lstatSync(FILE).isFile() && !existsSync("src/B.java");
        record(`restored ${isRestored}`);
        replace();
      },
    ]),
  ),
  async "tool-files"() {
    record(`present ${TOOL_FILES.filter((path) => existsSync(path)).length}`);
    for (const path of TOOL_FILES) {
      put(path, "of the agent");
    }
  },
  async "changes-tool-files"() {
    writeFileSync(TOOL_FILES[0], "of the agent");
    rmSync(TOOL_FILES[1]);
    put("target/new.txt", "new");
  },
  async "writes-tool-file"() {
    const written = await request("fs/write_text_file", { path: "target/kept.txt", content: "of the agent" });
    record(`write ${written.error ? "refused" : "written"}`);
  },
  async "deep-folders"() {
    const root = process.cwd();
    for (let depth = 0; depth < 3_000; depth += 1) {
      mkdirSync("d".repeat(200));
      process.chdir("d".repeat(200));
    }
    writeFileSync("file", "");
    process.chdir(root);
  },
  async "no-root"() {
    rmSync(process.cwd(), { recursive: true });
  },
  async answer() {
    text("Hello, ");
    text("");
    text("world");
  },
  async edit() {
    writeFileSync(FILE, fixed());
  },
  async create() {
    mkdirSync("src/new/deep", { recursive: true });
    writeFileSync("src/new/deep/B.java", "class B {}\n");
    rmSync(FILE);
  },
  async "fs-write"() {
    const read = await request("fs/read_text_file", { path: `${process.cwd()}/${FILE}`, line: 1, limit: 1 });
    record(`read ${JSON.stringify(read.result ?? read.error)}`);
    const written = await request("fs/write_text_file", { path: `${process.cwd()}/${FILE}`, content: fixed() });
    record(`write ${JSON.stringify(written.error ?? "written")}`);
  },
  // Like gemini-cli: the tool was never announced, and a refused tool is never finished.
  async permission() {
    const call = { toolCallId: "t", title: "Edit A.java", kind: "edit", status: "pending", content: [diff()] };
    if (await permission(call)) {
      await request("fs/write_text_file", { path: `${process.cwd()}/${FILE}`, content: fixed() });
      tool("t", "completed");
    }
  },
  // Like qwen-code: the tool has a name.
  async named() {
    const _meta = { toolName: "replace" };
    tool("t", "pending", { title: "Replace", kind: "edit", _meta });
    if (await permission({ toolCallId: "t", title: "Replace", kind: "edit", _meta })) {
      writeFileSync(FILE, fixed());
      tool("t", "completed");
    }
  },
  // The tool has a name and a diff.
  async "named-with-diff"() {
    const call = { toolCallId: "t", title: "Replace", kind: "edit", _meta: { toolName: "replace" }, content: [diff()] };
    if (await permission(call)) {
      writeFileSync(FILE, fixed());
      tool("t", "completed");
    }
  },
  // Shows one change, and makes a different change.
  async "other-change"() {
    tool("t", "pending", { title: "Edit A.java", kind: "edit", content: [diff()] });
    const answer = permission({ toolCallId: "t", title: "Edit A.java", kind: "edit" });
    const other = { ...diff(), newText: "class Other {}\n" };
    tool("t", "in_progress", { content: [other] });
    if (await answer) {
      writeFileSync(FILE, other.newText);
    }
  },
  // Shows a part of the file, and then writes this part as the whole file.
  async "part-as-file"() {
    const part = { type: "diff", path: FILE, oldText: "javax.servlet", newText: "jakarta.servlet" };
    if (await permission({ toolCallId: "t", title: "Edit A.java", kind: "edit", content: [part] })) {
      const written = await request("fs/write_text_file", { path: FILE, content: part.newText });
      record(`write ${written.error ? "refused" : "written"}`);
    }
  },
  // Writes many contents to one file during one tool call, and then requests a permission.
  async "writes-again"() {
    tool("t", "pending", { title: "Write", kind: "edit" });
    for (let number = 0; number < 150; number += 1) {
      await request("fs/write_text_file", { path: "src/Large.java", content: `${number}`.padEnd(1_000_000, "x") });
    }
    await permission({ toolCallId: "t2", title: "Run", kind: "execute" });
  },
  async "many-large-files"() {
    for (let number = 100; number < 180; number += 1) {
      writeFileSync(`src/Large${number}.java`, "x".repeat(1_900_000));
    }
  },
  async "text-between-turns"() {
    setTimeout(() => {
      text("between turns");
      record("sent between turns");
    }, 500);
  },
  async "always-only"() {
    await permission({ toolCallId: "t", title: "Run", kind: "execute" }, [ONCE[0]]);
  },
  async "runs-denied"() {
    tool("t", "pending", { title: "rm -rf", kind: "execute" });
    tool("t", "in_progress");
    writeFileSync(FILE, "damaged");
    await new Promise((resolve) => (cancelTurn = resolve));
  },
  async tools() {
    for (let number = 0; number < 20; number += 1) {
      tool(`t${number}`, "pending", { title: `Tool ${number}`, kind: "read" });
    }
    await new Promise((resolve) => (cancelTurn = resolve));
  },
  async output() {
    tool("t", "pending", { title: "Read", kind: "read", rawInput: { path: "x".repeat(100_000) } });
    const content = [{ type: "content", content: { type: "text", text: "é".repeat(500_000) } }];
    tool("t", "completed", { content });
  },
  async unfinished() {
    tool("t", "pending", { title: "Read", kind: "read" });
    tool("t", "in_progress");
  },
  async plan() {
    update({
      sessionUpdate: "plan",
      entries: [
        { content: "Look", priority: "high", status: "completed" },
        { content: "Edit", priority: "high", status: "pending" },
      ],
    });
  },
  async outside() {
    const paths = ["/etc/kaiak-test", "../outside", `${process.cwd()}/../outside`, "link/outside"];
    symlinkSync("/tmp", "link");
    for (const path of paths) {
      const written = await request("fs/write_text_file", { path, content: "x" });
      record(`${path} ${written.error ? "refused" : "written"}`);
    }
    const missing = await request("fs/read_text_file", { path: "missing" });
    record(`missing ${missing.error.code}`);
  },
  // Sends updates without a pause, until the turn is cancelled.
  async flood() {
    let isCancelled = false;
    cancelTurn = () => (isCancelled = true);
    const thought = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "t" } };
    const line = `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { update: thought } })}\n`;
    const lines = line.repeat(500);
    while (!isCancelled) {
      await new Promise((resolve) => process.stdout.write(lines, resolve));
    }
  },
  async "invalid-params"() {
    for (const method of ["fs/read_text_file", "fs/write_text_file"]) {
      const answer = await request(method, {});
      record(`${method} ${JSON.stringify(answer.error)}`);
    }
  },
  async exit() {
    process.stderr.write("the model is on fire\n");
    process.exit(3);
  },
  async hang() {
    text("thinking");
    await new Promise((resolve) => (cancelTurn = resolve));
  },
  async "hang-for-ever"() {
    text("thinking");
    await new Promise(() => {});
  },
  async "open-permission"() {
    await permission({ toolCallId: "t", title: "Run", kind: "execute" });
  },
  async "permission-at-cancel"() {
    await new Promise((resolve) => (cancelTurn = resolve));
    await permission({ toolCallId: "t", title: "Run", kind: "execute" });
  },
  async sleeper() {
    const { spawn } = await import("node:child_process");
    const child = spawn("sleep", ["1000"], { stdio: "ignore" });
    record(`pid ${child.pid}`);
    text("started");
    await new Promise(() => {});
  },
  async refusal() {
    return "refusal";
  },
};

const methods = {
  initialize() {
    if (behaviour === "no-start") {
      process.stderr.write("no configuration\n");
      process.exit(1);
    }
    if (behaviour === "slow-start" && !existsSync("fine")) {
      record("initialize");
      return new Promise(() => {});
    }
    const authMethods = [{ id: "key", name: "An API key" }];
    return { protocolVersion: 1, agentCapabilities: {}, authMethods };
  },
  "session/new"(params) {
    record(`session/new ${JSON.stringify({ cwd: params.cwd === process.cwd(), servers: params.mcpServers })}`);
    if (behaviour === "login-and-write") {
      writeWithoutPause();
    }
    if (behaviour.startsWith("login")) {
      throw { code: -32000, message: "Authentication required." };
    }
    if (behaviour === "early") {
      update({ sessionUpdate: "available_commands_update", availableCommands: [] });
      update({ sessionUpdate: "usage_update", used: 1, size: 2 });
    }
    return { sessionId: "s" };
  },
  async "session/prompt"(params) {
    record(`prompt ${JSON.stringify(params.prompt[0].text)}`);
    const turn = turns[existsSync("fine") ? "answer" : behaviour] ?? turns.answer;
    let isCancelled = false;
    const stop = cancelTurn;
    cancelTurn = () => {};
    stop();
    const stopReason = await Promise.race([
      turn(),
      new Promise((resolve) => {
        methods["session/cancel"] = () => {
          record("session/cancel");
          isCancelled = true;
          cancelTurn();
          if (behaviour !== "hang-for-ever" && behaviour !== "permission-at-cancel") {
            resolve("cancelled");
          }
        };
      }),
    ]);
    return { stopReason: isCancelled ? "cancelled" : (stopReason ?? "end_turn") };
  },
};

async function handle(line) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    pending.get(message.id)?.(message);
    return;
  }
  try {
    const result = await methods[message.method]?.(message.params);
    if (message.id !== undefined) {
      if (behaviour === "banner") {
        process.stdout.write("[2026] a log line {not json}\n\u001b]0;title\u0007\u001b[2J");
      }
      send({ id: message.id, result: result ?? null });
    }
    if (message.method === "session/prompt" && behaviour === "late") {
      text("too late");
    }
  } catch (error) {
    send({ id: message.id, error: { code: error.code ?? -32603, message: error.message } });
  }
}

if (behaviour === "banner") {
  process.stdout.write(`${"Welcome!\n".repeat(30)}\u001b[32m`);
}
createInterface({ input: process.stdin }).on("line", handle);
