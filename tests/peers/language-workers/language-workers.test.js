// Language servers in workers: an official server with a client of Portway, and a server of Portway with the official
// client.

import { assert } from "chai";
import {
  BrowserMessageReader,
  BrowserMessageWriter,
  CancellationTokenSource,
  createProtocolConnection,
} from "/target/language-workers/official-client.js";
import { afterThisTest } from "../../web/support/cleanup.js";
import { rejection, until } from "../../web/support/outcomes.js";
import { JSONRPCPeer, workerTransport } from "../../web/support/portway.js";

const uri = "file:///page.css";
const initializeParams = { processId: null, rootUri: null, capabilities: { workspace: { configuration: true } } };

describe("a client of Portway and the official CSS language server in a worker", () => {
  let peer;
  let diagnostics;
  let sections;

  beforeEach(async () => {
    const worker = new Worker("/target/language-workers/css-worker.js");
    const errors = [];
    peer = new JSONRPCPeer(workerTransport(worker), { onError: (error) => errors.push(String(error)) });
    diagnostics = [];
    sections = [];
    afterThisTest(() => {
      peer.destroy();
      worker.terminate();
      assert.deepEqual(errors, []);
    });
    peer
      .onNotify("textDocument/publishDiagnostics", (params) => diagnostics.push(params))
      .method("workspace/configuration", ({ items }) => {
        sections.push(...items.map(({ section }) => section));
        return items.map(() => ({ validate: true, lint: {} }));
      });
    const { capabilities } = await peer.request("initialize", initializeParams);
    assert.isTrue(capabilities.hoverProvider);
    peer.notify("initialized", {});
  });

  const open = (text) =>
    peer.notify("textDocument/didOpen", { textDocument: { uri, languageId: "css", version: 1, text } });

  it("exchange diagnostics, and the configuration that the server requests", async () => {
    open("a { colr: red }");
    await until(() => diagnostics.length > 0);
    assert.deepEqual(sections, ["css"]);
    assert.equal(diagnostics[0].uri, uri);
    assert.match(diagnostics[0].diagnostics[0].message, /colr/);
  });

  it("exchange completions", async () => {
    open("a { col }");
    const position = { line: 0, character: 7 };
    const { items } = await peer.request("textDocument/completion", { textDocument: { uri }, position });
    assert.include(
      items.map(({ label }) => label),
      "color",
    );
  });

  it("cancel a request", async () => {
    const controller = new AbortController();
    const call = peer.request("test/slow", {}, { signal: controller.signal });
    assert.equal(await peer.request("test/cancelled"), 0);
    controller.abort(new Error("the cursor has moved"));
    assert.equal((await rejection(call)).message, "the cursor has moved");
    assert.equal(await peer.request("test/cancelled"), 1);
  });

  it("answer an unknown method with -32601, and shutdown with null", async () => {
    assert.equal((await rejection(peer.request("test/unknown"))).code, -32601);
    assert.isNull(await peer.request("shutdown"));
  });
});

describe("the official client and a language server of Portway in a worker", () => {
  let connection;

  beforeEach(async () => {
    const worker = new Worker("/target/language-workers/portway-worker.js", { type: "module" });
    await new Promise((resolve) => worker.addEventListener("message", resolve, { once: true }));
    const errors = [];
    connection = createProtocolConnection(new BrowserMessageReader(worker), new BrowserMessageWriter(worker));
    connection.onError(([error]) => errors.push(String(error)));
    connection.onRequest("workspace/configuration", ({ items }) => items.map(() => ({ severity: 3 })));
    connection.listen();
    afterThisTest(() => {
      connection.dispose();
      worker.terminate();
      assert.deepEqual(errors, []);
    });
    const { capabilities } = await connection.sendRequest("initialize", initializeParams);
    assert.equal(capabilities.textDocumentSync, 1);
  });

  it("exchange diagnostics, and the configuration that the server requests", async () => {
    const published = new Promise((resolve) => connection.onNotification("textDocument/publishDiagnostics", resolve));
    const textDocument = { uri, languageId: "text", version: 1, text: "a TODO" };
    connection.sendNotification("textDocument/didOpen", { textDocument });
    const { diagnostics } = await published;
    assert.deepEqual(
      diagnostics.map(({ severity, range }) => [severity, range.start.character]),
      [[3, 2]],
    );
  });

  it("exchange completions", async () => {
    const items = await connection.sendRequest("textDocument/completion", { textDocument: { uri } });
    assert.deepEqual(items, [{ label: "TODO" }, { label: "DONE" }]);
  });

  it("cancel a request", async () => {
    const source = new CancellationTokenSource();
    const call = connection.sendRequest("test/slow", {}, source.token);
    assert.equal(await connection.sendRequest("test/cancelled", {}), 0);
    source.cancel();
    assert.equal((await rejection(call)).code, -32800);
    assert.equal(await connection.sendRequest("test/cancelled", {}), 1);
  });

  it("answer an unknown method with -32601, and shutdown with null", async () => {
    assert.equal((await rejection(connection.sendRequest("test/unknown", {}))).code, -32601);
    assert.isNull(await connection.sendRequest("shutdown"));
  });
});
