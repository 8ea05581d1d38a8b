// The examples for workers and windows from the original protocol document. The examples for ports are in
// reference-library.test.js.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, windowTransport, workerTransport } from "./support/portway.js";
import { origins, scriptedIframe, openIframe } from "./support/iframes.js";
import { worker } from "./support/workers.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

describe("the migration of a build worker", () => {
  it("replaces messages and listeners by a call", async () => {
    const started = worker("build-worker.js");
    const client = new JSONRPCClient(workerTransport(started));
    const result = await client.request("build", { entry: "src/App.tsx", config: { entryPoints: ["src/App.tsx"] } });
    assert.deepEqual(result, {
      output: [{ path: "/dist/app.js", contents: new Uint8Array([1, 2, 3]) }],
      warnings: ["of src/App.tsx"],
    });
    client.destroy();
  });

  it("converts an error thrown in the worker to an error of the right call", async () => {
    const client = new JSONRPCClient(workerTransport(worker("build-worker.js")));
    const config = { entryPoints: ["a.ts"] };
    const [good, bad] = await Promise.allSettled([
      client.request("build", { config }),
      client.request("build", { config: { ...config, fail: true } }),
    ]);
    assert.equal(good.status, "fulfilled");
    assert.deepEqual(
      [bad.reason.name, bad.reason.code, bad.reason.message],
      ["RPCError", -32603, "Build failed with 1 error"],
    );
    client.destroy();
  });

  it("may be incomplete: ad-hoc messages and calls work at the same time", async () => {
    const started = worker("build-worker.js");
    const client = new JSONRPCClient(workerTransport(started));
    const results = [];
    started.onmessage = (event) => {
      if (event.data.type === "result") results.push(event.data.output);
    };
    const config = { entryPoints: ["src/App.tsx"] };
    // The worker adds its ad-hoc listener before it responds.
    await client.request("build", { config });
    started.postMessage({ type: "build", entry: "src/App.tsx", config });
    await client.request("build", { config });
    await until(() => results.length === 1);
    assert.deepEqual(results, [["/dist/app.js"]]);
    client.destroy();
  });

  it("also works for a worker with two methods that sends notifications to the page", async () => {
    const transport = workerTransport(worker("build-worker.js"));
    const client = new JSONRPCClient(transport);
    const server = new JSONRPCServer(transport);
    const seen = [];
    server.onNotify("buildProgress", ({ percent }) => void seen.push(percent));
    server.onNotify("buildWarning", ({ message }) => void seen.push(message));
    const [front, back] = await Promise.all([
      client.request("build", { config: { entryPoints: ["a.ts"] } }),
      client.request("buildBackend", { entry: "server.ts" }),
    ]);
    assert.deepEqual([front.warnings, back.warnings], [["of a.ts"], []]);
    assert.deepEqual(seen, [100, "unused import"]);
    client.destroy();
    server.destroy();
  });
});

describe("the preview in an iframe", () => {
  it("can call a method of its page before it responds to a call, with one or three arguments of windowTransport", async () => {
    const { contentWindow } = await openIframe("frame.html");
    const server = new JSONRPCServer(windowTransport(contentWindow, window, origins.own));
    const client = new JSONRPCClient(windowTransport(contentWindow));
    server.method("name", ({ url }) => ({ status: 200, headers: { "Content-Type": "text/plain" }, body: btoa(url) }));
    const [, page] = await client.request("callBack", { url: "/index.html" });
    assert.equal(atob(page.body), "/index.html");
    client.destroy();
    server.destroy();
  });

  it("may still send its old messages, which reach their listeners unchanged", async () => {
    const child = await scriptedIframe();
    const peer = new JSONRPCPeer(windowTransport(child.window));
    afterThisTest(() => peer.destroy());
    const lines = [];
    peer.onNotify("console", ({ message }) => void lines.push(`new: ${message}`));
    const listener = (event) => event.data?.type === "wiggum-console" && lines.push(`old: ${event.data.message}`);
    addEventListener("message", listener);
    child.post({ type: "wiggum-console", level: "log", message: "a" });
    child.post({ jsonrpc: "2.0", method: "console", params: { level: "log", message: "b" } });
    await child.settled();
    removeEventListener("message", listener);
    assert.deepEqual(lines, ["old: a", "new: b"]);
  });

  it("may call navigate and refresh with or without an id, and gets a response only to a call with an id", async () => {
    const child = await scriptedIframe();
    const peer = new JSONRPCPeer(windowTransport(child.window));
    afterThisTest(() => peer.destroy());
    const calls = [];
    peer.method("navigate", ({ url }) => void calls.push(url)).method("refresh", () => void calls.push("refresh"));
    child.post({ jsonrpc: "2.0", method: "navigate", params: { url: "/a" } });
    child.post({ jsonrpc: "2.0", method: "navigate", params: { url: "/b" }, id: 1 });
    child.post({ jsonrpc: "2.0", method: "refresh" });
    await child.settled();
    assert.deepEqual(calls, ["/a", "/b", "refresh"]);
    await until(() => child.received.length > 0);
    await child.settled();
    assert.deepEqual(child.received, [{ jsonrpc: "2.0", result: null, id: 1 }]);
  });

  it("does not respond: after a timeout or destroy, calls reject with the messages of the original document", async () => {
    const child = await scriptedIframe();
    const client = new JSONRPCClient(windowTransport(child.window), { timeout: 20 });
    assert.equal(
      (await rejection(client.request("navigate", { url: "/" }))).message,
      "JSON-RPC timeout: navigate (id=1)",
    );
    const last = client.request("refresh");
    client.destroy();
    assert.equal((await rejection(last)).message, "JSON-RPC client destroyed");
  });
});
