// Tests all exchanges of MCP Apps between a host and a view, directly and behind the proxy of web hosts. At least one
// of the two uses Portway. A host or a view without Portway uses the official classes.

import { assert } from "chai";
import { startHost as startOfficialHost } from "/target/mcp-apps/official-host.js";
import { until } from "../web/support/outcomes.js";
import { startHost as startPortwayHost } from "./support/portway-host.js";
import { openBehindProxy, openDirectly, viewHtml } from "./support/views.js";

const hosts = { portway: startPortwayHost, official: startOfficialHost };
const pairs = [
  ["portway", "official"],
  ["official", "portway"],
  ["portway", "portway"],
];
const places = {
  "in a sandboxed iframe": openDirectly,
  "behind a proxy, with the origin of the proxy": openBehindProxy,
  "behind a proxy, without an origin": (html, startHost) => openBehindProxy(html, startHost, "allow-scripts"),
};

for (const [hostName, viewName] of pairs) {
  for (const [place, open] of Object.entries(places)) {
    describe(`the ${hostName} host and the ${viewName} view ${place}`, () => {
      let element;
      let host;

      /** Calls a tool of the view, and returns the value of its result. */
      const ask = async (name, args) => (await host.callTool({ name, arguments: args })).structuredContent;
      /** Makes the view call the host. */
      const askHost = (method, params, options) => ask("call", { method, params, ...options });
      const callTool = (name, options, args = {}) => askHost("tools/call", { name, arguments: args }, options);

      before(async () => {
        ({ element, host } = await open(await viewHtml(viewName), hosts[hostName]));
        await host.onceInitialized;
      });

      after(() => {
        host.destroy();
        element.remove();
      });

      // The requests make sure that all earlier messages have arrived.
      afterEach(async () => {
        await askHost("tools/call", { name: "sum", arguments: { a: 1, b: 1 } });
        assert.deepEqual((await ask("state")).errors, [], "errors of the view");
        assert.deepEqual(host.errors, [], "errors of the host");
      });

      it("answer pings, and the requests of both sides", async () => {
        assert.deepEqual(await host.ping(), {});
        assert.deepEqual((await host.listTools()).tools[0].name, "echo");
        const result = await host.callTool({ name: "echo", arguments: { text: "hello" } });
        assert.deepEqual(result, { content: [{ type: "text", text: "hello" }] });
        const outcome = await callTool("sum", {}, { a: 2, b: 3 });
        assert.deepEqual(outcome.result, { content: [{ type: "text", text: "5" }] });
        const { contents } = (await askHost("resources/read", { uri: "ui://a" })).result;
        assert.deepEqual(contents, [{ uri: "ui://a", mimeType: "text/plain", text: "a text" }]);
        const { mode } = (await askHost("ui/request-display-mode", { mode: "fullscreen" })).result;
        assert.equal(mode, "fullscreen");
      });

      it("make 100 calls at once in both directions", async () => {
        const texts = Array.from({ length: 100 }, (_, n) => `${n}`);
        const echoed = await Promise.all(texts.map((text) => host.callTool({ name: "echo", arguments: { text } })));
        assert.deepEqual(
          echoed.map(({ content: [{ text }] }) => text),
          texts,
        );
        const sums = await Promise.all(texts.map((_, n) => callTool("sum", {}, { a: n, b: 1 })));
        assert.deepEqual(
          sums.map(({ result }) => result.content[0].text),
          texts.map((_, n) => String(n + 1)),
        );
      });

      it("exchange requests and results without a value", async () => {
        host.received.length = 0;
        const content = [{ type: "text", text: "hi" }];
        const expected = [
          ["ui/message", { role: "user", content }],
          ["ui/open-link", { url: "https://example.com/" }],
          ["ui/update-model-context", { content }],
        ];
        for (const [method, params] of expected)
          assert.deepEqual(await askHost(method, params), { result: {}, seen: [] }, method);
        assert.deepEqual(host.received, expected);
      });

      it("exchange notifications in their order", async () => {
        host.received.length = 0;
        const { notifications: earlier } = await ask("state");
        const sent = [
          ["tool-input-partial", { arguments: { a: 1 } }],
          ["tool-input", { arguments: { a: 1, b: 2 } }],
          ["tool-result", { content: [{ type: "text", text: "3" }] }],
          ["tool-cancelled", { reason: "the user has left" }],
          ["host-context-changed", { theme: "light" }],
        ];
        for (const [name, params] of sent) await host.notify(`ui/notifications/${name}`, params);
        const { notifications } = await ask("state");
        assert.deepEqual(notifications.slice(earlier.length), sent);
        const reported = [
          ["notifications/message", { level: "info", data: "a log" }],
          ["ui/notifications/size-changed", { width: 10, height: 20 }],
        ];
        for (const [method, params] of reported) await ask("notify", { method, params });
        const isReported = ([method, params]) =>
          reported.some(([name, sent]) => name === method && JSON.stringify(sent) === JSON.stringify(params));
        assert.deepEqual(host.received.filter(isReported), reported);
      });

      it("receive the code, the message and the data of errors", async () => {
        const error = { code: -32004, message: "no such thing", data: { name: "fail" } };
        const caught = await host.callTool({ name: "fail", arguments: error }).catch((caught) => caught);
        assert.equal(caught.code, error.code);
        assert.include(caught.message, error.message);
        assert.deepEqual(caught.data, error.data);
        const seen = (await callTool("fail")).error;
        assert.equal(seen.code, error.code);
        assert.include(seen.message, error.message);
        assert.deepEqual(seen.data, error.data);
        const unknown = (await callTool("none")).error;
        assert.equal(unknown.code, -32602);
      });

      it("send and receive progress", async () => {
        const values = [
          { progress: 1, total: 2 },
          { progress: 2, total: 2, message: "done" },
        ];
        const seen = [];
        await host.callTool({ name: "steps" }, { onProgress: (value) => seen.push(value) });
        assert.deepEqual(seen, values);
        await host.callTool({ name: "steps" });
        assert.deepEqual((await callTool("steps", { wantsProgress: true })).seen, values);
        assert.deepEqual((await callTool("steps")).seen, []);
      });

      it("abort the handler of the view when the host aborts its call, or when the call times out", async () => {
        const { reasons: earlier } = await ask("state");
        const controller = new AbortController();
        const call = host.callTool({ name: "slow" }, { signal: controller.signal }).catch((error) => error);
        await host.ping();
        controller.abort(new Error("the host has aborted the call"));
        await call;
        await host.callTool({ name: "slow" }, { timeout: 50 }).catch((error) => error);
        const reasons = (await ask("state")).reasons.slice(earlier.length);
        assert.equal(reasons.length, 2);
        assert.match(reasons[0], /the host has aborted the call/);
        assert.match(reasons[1], /time/i);
      });

      it("abort the handler of the host when the view aborts its call, or when the call times out", async () => {
        host.reasons.length = 0;
        const aborted = await callTool("slow", { abortAfter: 20 });
        assert.match(aborted.error.message, /the view has aborted the call/);
        await until(() => host.reasons.length === 1);
        const timedOut = await callTool("slow", { timeout: 50 });
        assert.isDefined(timedOut.error);
        await until(() => host.reasons.length === 2);
        assert.match(host.reasons[0], /the view has aborted the call/);
        assert.match(host.reasons[1], /time/i);
      });

      it("tear the view down", async () => {
        host.received.length = 0;
        await ask("notify", { method: "ui/notifications/request-teardown", params: {} });
        await until(() => host.received.some(([method]) => method === "ui/notifications/request-teardown"));
        assert.deepEqual(await host.tearDown(), {});
      });
    });
  }
}
