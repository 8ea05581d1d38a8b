// A page that edits Python. A language server checks the text, and sends the documentation of the name at the cursor.
// The parameter `server` of the page's URL is the address of the server.

import init, { JSONRPCPeer } from "../../pkg/portway.js";
import { webSocketTransport } from "../../pkg/websocket.js";

const DEFAULT_SERVER = "ws://127.0.0.1:8080/";
const element = (id) => document.getElementById(id);
const editor = element("editor");
const uri = "file:///page.py";
let version = 0;

await init();
const server = new URLSearchParams(location.search).get("server") ?? DEFAULT_SERVER;
const peer = new JSONRPCPeer(
  webSocketTransport(server, {
    // Each connection has a separate language server. A new server must be initialized and needs the document.
    onSession: () => begin().catch(showError),
    onLost: ({ message }) => showState(message),
    // While pylsp starts, it answers nothing. On a busy machine, the start may take longer than the default heartbeat.
    heartbeat: 20_000,
  }),
);

peer.onNotify("textDocument/publishDiagnostics", ({ diagnostics }) => {
  const items = diagnostics.map(({ range, message }) => {
    const item = document.createElement("li");
    item.textContent = `line ${range.start.line + 1}: ${message}`;
    return item;
  });
  element("diagnostics").replaceChildren(...items);
});

/** Initializes a new language server, and opens the document there. */
async function begin() {
  const capabilities = { textDocument: { hover: { contentFormat: ["plaintext"] } } };
  const { serverInfo } = await peer.request("initialize", { processId: null, rootUri: null, capabilities });
  peer.notify("initialized", {});
  version += 1;
  peer.notify("textDocument/didOpen", {
    textDocument: { uri, languageId: "python", version, text: editor.value },
  });
  showState(`connected to ${serverInfo?.name ?? "a language server"}`);
}

/**
 * Sends the text of the editor. If the page is not connected, the returned promise rejects. In this case, `begin` sends
 * the new text on the next connection.
 */
async function change() {
  version += 1;
  peer.notify("textDocument/didChange", {
    textDocument: { uri, version },
    contentChanges: [{ text: editor.value }],
  });
}

let hoverAbort = new AbortController();

/** Shows the documentation of the name at the cursor. A new request cancels the request before it. */
async function hover() {
  hoverAbort.abort();
  hoverAbort = new AbortController();
  const { signal } = hoverAbort;
  const lines = editor.value.slice(0, editor.selectionStart).split("\n");
  const position = { line: lines.length - 1, character: lines.at(-1).length };
  const result = await peer.request("textDocument/hover", { textDocument: { uri }, position }, { signal });
  element("hover").textContent = [result?.contents ?? []]
    .flat()
    .map((content) => content.value ?? content)
    .join("\n");
}

function showState(text) {
  element("state").textContent = text;
}

function showError(error) {
  // An `AbortError` shows only that a newer request has cancelled an older one.
  if (error.name !== "AbortError") showState(error.message);
}

editor.addEventListener("input", () => change().catch(showError));
// Clicks and keys may move the cursor.
for (const event of ["click", "keyup"]) editor.addEventListener(event, () => hover().catch(showError));
