// A language server with Portway in a worker. It reports each `TODO` of a document.

import init, { JSONRPCPeer, selfTransport } from "portway/inline";

await init();
const peer = new JSONRPCPeer(selfTransport());
let cancelled = 0;
peer
  .method("initialize", () => ({ capabilities: { textDocumentSync: 1, completionProvider: {} } }))
  .onNotify("textDocument/didOpen", async ({ textDocument: { uri, text } }) => {
    const [{ severity }] = await peer.request("workspace/configuration", { items: [{ section: "todo" }] });
    const diagnostics = Array.from(text.matchAll(/TODO/g), ({ index }) => ({
      range: { start: { line: 0, character: index }, end: { line: 0, character: index + 4 } },
      severity,
      message: "a task is open",
    }));
    peer.notify("textDocument/publishDiagnostics", { uri, diagnostics });
  })
  .method("textDocument/completion", () => [{ label: "TODO" }, { label: "DONE" }])
  .method("test/slow", (_, { signal }) => {
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        cancelled++;
        reject(signal.reason);
      });
    });
  })
  .method("test/cancelled", () => cancelled)
  .method("shutdown", () => {});
postMessage("ready");
