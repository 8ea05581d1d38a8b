// A server with vscode-jsonrpc, over standard input and output. tests/peers/vscode_jsonrpc.rs calls this server.

import rpc from "vscode-jsonrpc/node";

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout),
);
const lines = [];

connection.onRequest("echo", (params) => params);
connection.onRequest("add", (a, b) => a + b);
connection.onRequest("nothing", () => undefined);
connection.onRequest("fail", () => new rpc.ResponseError(-32001, "no such file", ["main.rs"]));
connection.onRequest("crash", () => {
  throw new Error("an accident");
});
connection.onRequest("wait", (_, token) => {
  const cancelled = new rpc.ResponseError(rpc.LSPErrorCodes?.RequestCancelled ?? -32800, "cancelled");
  return new Promise((resolve) =>
    token.onCancellationRequested(() => {
      lines.push("cancelled");
      resolve(cancelled);
    }),
  );
});
connection.onRequest(
  "ask",
  async ({ question }) => `${question} ${await connection.sendRequest("answer", { question })}`,
);
connection.onRequest("lines", () => lines);
connection.onNotification("log", (line) => lines.push(line));
connection.onNotification("exit", () => process.exit(0));
connection.onClose(() => process.exit(0));
connection.listen();
