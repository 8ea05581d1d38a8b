// The modern era of MCP over HTTP: headers, questions in results, and cancellation (MCP 2026-07-28).

import { assert } from "chai";
import { RPCError } from "./support/portway.js";
import { rejection, until } from "./support/outcomes.js";
import { clientInfo, connectMcp, startSite } from "./support/sites.js";

const META = "io.modelcontextprotocol";

describe("A request of the modern era over HTTP", () => {
  it("has the version, the name and the capabilities of the client in _meta, and headers with parts of its body", async () => {
    const site = await startSite((_, { modern, result }) => modern() ?? result({ resultType: "complete", n: 1 }));
    const { peer } = await connectMcp(site.url, {}, {}, { elicitation: {} });
    await peer.request("tools/call", { name: "é", _meta: { own: 1 } });
    await peer.request("resources/read", { uri: "text://a" });
    await peer.request("prompts/list");
    const log = await site.log();
    const meta = {
      [`${META}/protocolVersion`]: "2026-07-28",
      [`${META}/clientInfo`]: clientInfo,
      [`${META}/clientCapabilities`]: { elicitation: {} },
    };
    assert.deepEqual(
      log.map(({ headers }) => [headers["mcp-method"], headers["mcp-name"]]),
      [
        ["server/discover", undefined],
        ["tools/call", "=?base64?w6k=?="],
        ["resources/read", "text://a"],
        ["prompts/list", undefined],
      ],
    );
    for (const { headers, message } of log) {
      assert.equal(headers["mcp-protocol-version"], "2026-07-28");
      assert.notProperty(headers, "mcp-session-id");
      const { own, ...sent } = message.params._meta;
      assert.deepEqual(sent, meta);
      assert.equal(own, message.method === "tools/call" ? 1 : undefined);
    }
  });

  it("has the headers that a tool names, and tools with invalid names of headers are left out of the list", async () => {
    const tool = (name, properties) => ({ name, inputSchema: { type: "object", properties } });
    const tools = [
      tool("good", {
        region: { type: "string", "x-mcp-header": "Region" },
        nested: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
      }),
      tool("bad", { a: { type: "string", "x-mcp-header": "A B" } }),
      tool("plain", {}),
    ];
    const site = await startSite(
      ({ name }, { data, modern, result }) =>
        modern() ??
        result(name === "tools/list" ? { tools: data, resultType: "complete" } : { resultType: "complete" }),
      { data: tools },
    );
    const { peer, errors } = await connectMcp(site.url);
    const list = await peer.request("tools/list");
    assert.deepEqual(
      list.tools.map(({ name }) => name),
      ["good", "plain"],
    );
    assert.match(errors[0].message, /the tool "bad" is left out: x-mcp-header must be the name of an HTTP header/);
    await peer.request("tools/call", { name: "good", arguments: { region: " a ", nested: { count: 42 } } });
    await peer.request("tools/call", { name: "plain", arguments: { region: "a" } });
    const [good, plain] = (await site.log()).filter(({ name }) => name === "tools/call");
    assert.deepEqual(
      [good.headers["mcp-param-region"], good.headers["mcp-param-count"], good.headers["mcp-name"]],
      ["=?base64?IGEg?=", "42", "good"],
    );
    assert.notProperty(plain.headers, "mcp-param-region");
  });

  it("receives notifications and progress in its stream", async () => {
    const site = await startSite(({ message }, { modern, event, response }) => {
      const progressToken = message.params._meta.progressToken;
      return (
        modern() ?? {
          chunks: [
            event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } }),
            event({ jsonrpc: "2.0", method: "notifications/message", params: { data: "x" } }),
            event(response({ resultType: "complete", n: 1 })),
          ],
        }
      );
    });
    const { peer } = await connectMcp(site.url);
    const values = [];
    peer.onNotify("notifications/message", ({ data }) => values.push(data));
    await peer.request("tools/call", { name: "a" }, { onProgress: ({ progress }) => values.push(progress) });
    assert.deepEqual(values, [1, "x"]);
  });

  it("closes its stream, and sends nothing else, if it is aborted or times out", async () => {
    const site = await startSite((_, { modern }) => modern() ?? { isOpen: true, chunks: [": open\n\n"] });
    const { peer } = await connectMcp(site.url);
    const controller = new AbortController();
    const aborted = rejection(peer.request("tools/call", { name: "a" }, { signal: controller.signal }));
    await site.request("tools/call");
    controller.abort();
    await aborted;
    assert.equal((await rejection(peer.request("prompts/get", { name: "b" }, { timeout: 100 }))).reason, "timeout");
    for (const wanted of ["tools/call", "prompts/get"])
      await site.request(({ name, isClosed }) => name === wanted && isClosed);
    assert.deepEqual(await site.names(), ["server/discover", "tools/call", "prompts/get"]);
  });

  it("rejects, and is not sent again, if its stream ends early", async () => {
    const site = await startSite((_, { modern }) => modern() ?? { chunks: ["id: 1\nretry: 1\ndata:\n\n"] });
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "a" }));
    assert.match(error.message, /the stream ended before the response/);
    assert.deepEqual(await site.names(), ["server/discover", "tools/call"]);
  });

  it("rejects with the error of the server", async () => {
    const site = await startSite((_, { modern, error }) => modern() ?? error(-32020, 400));
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "a" }));
    assert.instanceOf(error, RPCError);
    assert.equal(error.code, -32020);
  });
});

describe("A result of the modern era that asks for input", () => {
  const STATE = '{"a": 1.0}\u0000é';

  /** Starts a site that asks once for input with these requests, and then returns the params of the second request. */
  const asking = (inputRequests) =>
    startSite(
      ({ message }, { data, modern, result }) =>
        modern() ??
        result(
          message.params.inputResponses || message.params.requestState
            ? { resultType: "complete", ...message.params }
            : { resultType: "input_required", ...data },
        ),
      { data: { inputRequests, requestState: STATE } },
    );

  it("is answered by the handlers of the peer, and the request is sent under a new id with the exact state", async () => {
    const site = await asking({
      who: { method: "elicitation/create", params: { message: "name?" } },
      roots: { method: "roots/list" },
    });
    const { peer } = await connectMcp(site.url);
    peer.method("elicitation/create", async ({ message }) => ({ action: "accept", content: { message } }));
    peer.method("roots/list", () => ({ roots: [] }));
    const result = await peer.request("tools/call", { name: "greet", arguments: { a: 1 } });
    assert.equal(result.requestState, STATE);
    assert.deepEqual(result.inputResponses, {
      who: { action: "accept", content: { message: "name?" } },
      roots: { roots: [] },
    });
    assert.deepEqual(result.arguments, { a: 1 });
    const calls = (await site.log()).filter(({ name }) => name === "tools/call");
    assert.equal(calls.length, 2);
    assert.notEqual(calls[0].message.id, calls[1].message.id);
    assert.equal(calls[1].headers["mcp-name"], "greet");
    // The handlers answer within the transport.
    assert.notInclude(await site.names(), "response");
  });

  it("may have only a state", async () => {
    const site = await asking(undefined);
    const { peer } = await connectMcp(site.url);
    const result = await peer.request("tools/call", { name: "greet" });
    assert.equal(result.requestState, STATE);
    assert.notProperty(result, "inputResponses");
  });

  it("fails the call if the peer has no handler, or if the handler throws", async () => {
    const site = await asking({ who: { method: "elicitation/create", params: {} } });
    const { peer } = await connectMcp(site.url);
    const missing = await rejection(peer.request("tools/call", { name: "greet" }));
    assert.equal(missing.code, -32601);
    assert.match(missing.message, /the handler of elicitation\/create has failed/);
    peer.method("elicitation/create", () => {
      throw new RPCError(-32000, "the user is away");
    });
    const failed = await rejection(peer.request("tools/call", { name: "greet" }));
    assert.deepEqual(
      [failed.code, failed.message],
      [-32000, "the handler of elicitation/create has failed: the user is away"],
    );
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 2);
  });

  it("fails the call after 16 requests if each request is answered with such a result", async () => {
    const site = await startSite((_, { modern, result }) => modern() ?? result({ resultType: "input_required" }));
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "greet" }));
    assert.equal(error.reason, "invalid-response");
    assert.match(error.message, /more often than 16 times/);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 16);
  });

  it("fails the call if its type is unknown", async () => {
    const site = await startSite((_, { modern, result }) => modern() ?? result({ resultType: "later" }));
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "greet" }));
    assert.match(error.message, /resultType must be "complete" or "input_required", got "later"/);
  });

  it("has its handler aborted if the call is aborted", async () => {
    const site = await asking({ who: { method: "elicitation/create", params: {} } });
    const { peer } = await connectMcp(site.url);
    let handlerSignal;
    peer.method("elicitation/create", (_, { signal }) => new Promise(() => (handlerSignal = signal)));
    const controller = new AbortController();
    const call = rejection(peer.request("tools/call", { name: "greet" }, { signal: controller.signal }));
    await until(() => handlerSignal);
    controller.abort();
    await call;
    await until(() => handlerSignal.aborted);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 1);
  });
});
