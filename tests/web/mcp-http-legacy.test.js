// The legacy era of MCP over HTTP: sessions and streams of Streamable HTTP (MCP 2025-11-25).

import { assert } from "chai";
import { afterThisTest } from "./support/cleanup.js";
import { isPending, pause, rejection, until } from "./support/outcomes.js";
import { connectMcp, startSite } from "./support/sites.js";

describe("A session of the legacy era over HTTP", () => {
  it("is named, with the version, in the headers of each later message, and is deleted at the end", async () => {
    const site = await startSite((_, { legacy, result }) => legacy({ "mcp-session-id": "s-1" }) ?? result({}));
    const { peer } = await connectMcp(site.url);
    await peer.request("tools/list");
    await site.request("GET");
    peer.destroy();
    await site.request("DELETE");
    const log = await site.log();
    assert.deepEqual(log.map(({ name }) => name).sort(), [
      "DELETE",
      "GET",
      "initialize",
      "notifications/initialized",
      "server/discover",
      "tools/list",
    ]);
    for (const { name, headers, message } of log) {
      const isEarly = name === "initialize" || name === "server/discover";
      assert.equal(headers["mcp-session-id"], isEarly ? undefined : "s-1", name);
      assert.equal(
        headers["mcp-protocol-version"],
        name === "initialize" ? undefined : isEarly ? "2026-07-28" : "2025-11-25",
        name,
      );
      if (name !== "server/discover") assert.notProperty(headers, "mcp-method");
      if (message) assert.equal(headers.accept, "application/json, text/event-stream");
      assert.isUndefined(name === "server/discover" ? undefined : message?.params?._meta);
    }
  });

  it("is optional: without a session, the client sends neither the header of a session nor DELETE", async () => {
    const site = await startSite((_, { legacy, result }) => legacy() ?? result({}));
    const { peer } = await connectMcp(site.url);
    await peer.request("tools/list");
    peer.destroy();
    for (const { headers } of await site.log()) assert.notProperty(headers, "mcp-session-id");
    assert.notInclude(await site.names(), "DELETE");
  });

  it("is replaced once, and the requests are sent once more, if the server has lost the session", async () => {
    const site = await startSite(({ name, headers, earlier }, { legacy, result, state }) => {
      if (name === "initialize") state.session = `s-${earlier + 1}`;
      const isLost = name === "tools/call" && headers["mcp-session-id"] === "s-1";
      return isLost ? { status: 404 } : (legacy({ "mcp-session-id": state.session }) ?? result({ n: 1 }));
    });
    const { peer } = await connectMcp(site.url);
    const calls = [1, 2, 3].map((n) => peer.request("tools/call", { name: "a", arguments: { n } }));
    assert.deepEqual(await Promise.all(calls), [{ n: 1 }, { n: 1 }, { n: 1 }]);
    const names = await site.names();
    assert.equal(names.filter((name) => name === "initialize").length, 2);
    assert.equal(names.filter((name) => name === "notifications/initialized").length, 2);
    assert.equal(names.filter((name) => name === "tools/call").length, 6);
  });

  it("causes an error if the server loses the next session at once", async () => {
    const site = await startSite(({ name }, { legacy }) =>
      name === "tools/call" ? { status: 404 } : legacy({ "mcp-session-id": "s" }),
    );
    const { peer } = await connectMcp(site.url);
    const error = await rejection(peer.request("tools/call", { name: "a" }));
    assert.deepEqual([error.reason, error.data.status], ["http-failed", 404]);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 2);
  });

  it("makes requests wait until the server has accepted notifications/initialized", async () => {
    const site = await startSite(async ({ name }, { legacy, result, sleep }) => {
      if (name === "notifications/initialized") await sleep(300);
      return legacy() ?? result({});
    });
    const { peer } = await connectMcp(site.url);
    const call = peer.request("tools/list");
    assert.isTrue(await isPending(call, 150));
    await call;
    const names = await site.names();
    assert.isBelow(names.indexOf("notifications/initialized"), names.indexOf("tools/list"));
  });
});

describe("The stream of a call in the legacy era over HTTP", () => {
  /** Answers `tools/call` with a stream of these chunks. "RESPONSE" is replaced by the response. */
  const streamed = async (chunks) => {
    const site = await startSite(
      ({ name }, { data, legacy, event, response }) =>
        name === "tools/call"
          ? {
              chunks: data.map((chunk) =>
                typeof chunk === "string"
                  ? chunk.replaceAll("RESPONSE", event(response({ text: "é😀" })).slice(6, -2))
                  : chunk,
              ),
            }
          : legacy(),
      { data: chunks },
    );
    return { site, ...(await connectMcp(site.url)) };
  };

  for (const [text, chunks] of [
    ["with LF", ["data: RESPONSE\n\n"]],
    ["with CRLF", ["event: message\r\nid: 1\r\ndata: RESPONSE\r\n\r\n"]],
    ["with CR", ["data: RESPONSE\r\r"]],
    ["with a byte order mark, comments and unknown fields", ["\uFEFF: hello\nother: x\ndata:RESPONSE\n\n"]],
    ["with CRLFs that arrive in two chunks", ["data: RESPONSE\r", 20, "\n\r", 20, "\n"]],
    ["after an event without data", ["id: 1\nretry: 10\ndata:\n\n", 20, "data: RESPONSE\n\n"]],
    ["after an event with another name", ["event: other\ndata: {}\n\ndata: RESPONSE\n\n"]],
  ])
    it(`is read ${text}`, async () => {
      const { peer } = await streamed(chunks);
      assert.deepEqual(await peer.request("tools/call", { name: "a" }), { text: "é😀" });
    });

  it("is read if a character and a line of data arrive in two chunks", async () => {
    const site = await startSite(({ name }, { legacy, response }) => {
      if (name !== "tools/call") return legacy();
      const [before, after] = JSON.stringify(response({ text: "é😀" })).split("é");
      const bytes = [...new TextEncoder().encode(`data: ${before}é${after}\n\n`)];
      const cut = new TextEncoder().encode(`data: ${before}`).length + 1;
      return { chunks: [bytes.slice(0, cut), 30, bytes.slice(cut)] };
    });
    const { peer } = await connectMcp(site.url);
    assert.deepEqual(await peer.request("tools/call", { name: "a" }), { text: "é😀" });
  });

  it("is read if the data has several lines", async () => {
    const site = await startSite(({ name }, { legacy, response }) =>
      name === "tools/call"
        ? { chunks: [`data: ${JSON.stringify(response({ n: 1 }), undefined, 1).replaceAll("\n", "\ndata: ")}\n\n`] }
        : legacy(),
    );
    const { peer } = await connectMcp(site.url);
    assert.deepEqual(await peer.request("tools/call", { name: "a" }), { n: 1 });
  });

  it("delivers progress and requests of the server before the response", async () => {
    const site = await startSite(async ({ name, message }, { legacy, event, response, state, until }) => {
      if (name === "response") state.answer = message;
      if (name !== "tools/call") return legacy();
      const progressToken = message.params._meta.progressToken;
      return {
        chunks: [
          event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1, total: 2 } }),
          event({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params: { message: "name?" } }),
          event(response({ done: true })),
        ],
      };
    });
    const { peer } = await connectMcp(site.url);
    const values = [];
    peer.method("elicitation/create", ({ message }) => (values.push(message), { action: "accept" }));
    const result = await peer.request("tools/call", { name: "a" }, { onProgress: (value) => values.push(value) });
    assert.deepEqual(result, { done: true });
    assert.deepEqual(values, [{ progress: 1, total: 2 }, "name?"]);
    const { message } = await site.request("response");
    assert.deepEqual(message, { jsonrpc: "2.0", id: "q", result: { action: "accept" } });
  });

  it("is resumed after the delay that the server has set, from the last event, if it ends early", async () => {
    const site = await startSite(({ name, headers, earlier, message }, { legacy, event, response, state }) => {
      if (name === "tools/call") {
        state.response = response({ done: true });
        return { chunks: ["id: e-1\nretry: 200\ndata:\n\n"] };
      }
      if (name === "GET" && headers["last-event-id"] === "e-1") return { chunks: [event(state.response)] };
      return legacy();
    });
    const { peer } = await connectMcp(site.url);
    const start = Date.now();
    assert.deepEqual(await peer.request("tools/call", { name: "a" }), { done: true });
    assert.isAtLeast(Date.now() - start, 190);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 1);
  });

  it("causes an error, and nothing is sent again, if it ends without the response and without an event id", async () => {
    const { peer, site } = await streamed([": nothing\n\n"]);
    const error = await rejection(peer.request("tools/call", { name: "a" }));
    assert.match(error.message, /the stream ended before the response/);
    assert.equal((await site.names()).filter((name) => name === "tools/call").length, 1);
  });

  it("is resumed at most five times without a message", async () => {
    const site = await startSite(({ name, headers }, { legacy }) =>
      name === "tools/call" || headers["last-event-id"] ? { chunks: ["id: 1\nretry: 1\ndata:\n\n"] } : legacy(),
    );
    const { peer } = await connectMcp(site.url);
    const { setTimeout } = globalThis;
    const delays = [];
    globalThis.setTimeout = (run, ms, ...rest) => {
      const isDelay = [1, 2_000, 4_000, 8_000, 16_000].includes(ms);
      if (isDelay) delays.push(ms);
      return setTimeout(run, isDelay ? 1 : ms, ...rest);
    };
    afterThisTest(() => (globalThis.setTimeout = setTimeout));
    const error = await rejection(peer.request("tools/call", { name: "a" }, { timeout: 0 }));
    globalThis.setTimeout = setTimeout;
    assert.match(error.message, /the stream ended before the response/);
    assert.deepEqual(delays, [1, 2_000, 4_000, 8_000, 16_000]);
    assert.equal((await site.log()).filter(({ headers }) => headers["last-event-id"]).length, 5);
  });

  it("is closed, and the server receives notifications/cancelled, if the call is aborted", async () => {
    const site = await startSite(({ name }, { legacy }) =>
      name === "tools/call" ? { isOpen: true, chunks: [] } : legacy(),
    );
    const { peer } = await connectMcp(site.url);
    const controller = new AbortController();
    const call = rejection(peer.request("tools/call", { name: "a" }, { signal: controller.signal }));
    const { message } = await site.request("tools/call");
    controller.abort(new Error("not needed"));
    await call;
    const cancelled = await site.request("notifications/cancelled");
    assert.deepEqual(cancelled.message.params, { requestId: message.id, reason: "not needed" });
    await site.request(({ name, isClosed }) => name === "tools/call" && isClosed);
  });
});

describe("The stream outside of calls in the legacy era over HTTP", () => {
  it("delivers notifications, and is requested again from the last event", async () => {
    const site = await startSite(async ({ name, earlier }, { legacy, event, sleep }) => {
      if (name !== "GET") return legacy({ "mcp-session-id": "s" });
      const notification = event({ jsonrpc: "2.0", method: "notifications/message", params: { n: earlier } });
      return { chunks: [`id: e-${earlier}\nretry: 10\n${notification}`], isOpen: earlier > 0 };
    });
    const { peer } = await connectMcp(site.url);
    const values = [];
    peer.onNotify("notifications/message", ({ n }) => values.push(n));
    await until(() => values.length === 2);
    assert.deepEqual(values, [0, 1]);
    const gets = (await site.log()).filter(({ name }) => name === "GET");
    assert.deepEqual(
      gets.map(({ headers }) => headers["last-event-id"]),
      [undefined, "e-0"],
    );
  });

  for (const [text, response] of [
    ["405", { status: 405 }],
    ["200 and HTML", { status: 200, type: "text/html", body: "<p>" }],
    ["404 without a session", { status: 404 }],
  ])
    it(`is not requested again if the server answers with ${text}`, async () => {
      const site = await startSite(({ name }, { data, legacy }) => (name === "GET" ? data : legacy()), {
        data: response,
      });
      await connectMcp(site.url);
      await site.request("GET");
      await pause(1_400);
      assert.equal((await site.names()).filter((name) => name === "GET").length, 1);
    });

  it("is requested again after growing delays if it always ends at once", async () => {
    const site = await startSite(({ name }, { legacy }) => (name === "GET" ? { chunks: ["retry: 0\n\n"] } : legacy()));
    await connectMcp(site.url);
    await site.request("GET");
    await pause(2_500);
    assert.isAtMost((await site.names()).filter((name) => name === "GET").length, 4);
  });
});
