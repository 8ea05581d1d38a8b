// The steps of `../check.mjs` about connections: the dummy server, WebSockets, the composer, pending calls.
import assert from "node:assert/strict";
import { Key } from "selenium-webdriver";
import { message } from "./records.mjs";
import { PeerServer } from "./servers.mjs";

const call = (id, method, params) => JSON.stringify({ jsonrpc: "2.0", id, method, ...(params && { params }) });

/** Returns a step that starts a server, runs `step`, and stops the server. */
const withServer = (step) => async (page) => {
  const server = new PeerServer();
  await server.start();
  try {
    await step(page, server);
  } finally {
    await server.kill();
  }
};

export const connectionSteps = [
  [
    "the page starts without messages and without a selected message, and is accessible",
    async (page) => {
      assert.deepEqual(await page.rows(), []);
      await page.waitFor("p.empty", "No messages yet");
      await page.waitFor("p.empty", "Select a message");
      assert.deepEqual(await page.violations(), []);
      await page.screenshot("empty");
    },
  ],

  [
    "the dummy server connects, answers, and links each response with its request",
    async (page) => {
      await page.connectToDummy();
      await page.send(call(1, "ping"));
      const result = await page.waitForRow("the result of ping", ({ kind }) => kind === "result");
      assert.equal(result.method, "ping");
      assert.ok(result.elapsed > 0);
      await page.send(call("x", "nope"));
      const error = await page.waitForRow("the error of nope", ({ kind }) => kind === "error");
      assert.deepEqual([error.code, error.id, error.method], [-32601, '"x"', "nope"]);
      await page.send(`[${call(2, "ping")},${call(3, "nope")}]`);
      await page.waitForRow("the answered batch", ({ kind, calls }) => kind === "batch" && calls === "answered");
      await page.waitForRow("the heartbeat", ({ method }) => method === "stream.heartbeat");
    },
  ],

  [
    "a pending call is listed with its age until its link closes",
    async (page) => {
      await page.connectToDummy();
      await page.send(call(7, "ignore"));
      await page.waitFor("pw-strip td", "ignore");
      const age = async () => Number.parseFloat((await page.texts("pw-strip tbody td.number"))[0]);
      await page.until("the age grows beyond a second", async () => {
        const [text] = await page.texts("pw-strip tbody td.number");
        return (text?.endsWith(" s") && (await age()) >= 1) || text;
      });
      await page.click("pw-strip button.row");
      await page.waitFor(".between", "pending for");
      await page.screenshot("pending");
      await page.button("Disconnect");
      await page.waitForRow("the call has ended", ({ calls }) => calls === "ended");
      await page.waitFor("pw-strip p.empty", "No call is pending");
      await page.waitFor(".between", "the link closed before the response");
    },
  ],

  [
    "a WebSocket sends its first message on each connection, and reconnects after the server was killed",
    withServer(async (page, server) => {
      const first = call("login", "login", { token: "s3cret" });
      await page.connectTo(server.url, { first });
      await page.waitFor(".own", "Connected");
      await page.send(call(1, "add", [20, 22]));
      await page.waitForRow("the sum", ({ kind, method }) => kind === "result" && method === "add");
      await page.send(call(2, "never"));
      assert.deepEqual(server.received.slice(0, 2), [first, call(1, "add", [20, 22])]);
      await server.kill();
      await page.waitFor(".own", "Waiting");
      await page.waitForRow("the call has ended", ({ method, calls }) => method === "never" && calls === "ended");
      await server.start();
      await page.waitFor(".own", "Connected");
      await page.waitFor(".badge", "1 reconnect");
      await page.until(
        "the first message is sent again",
        () => server.received.filter((text) => text === first).length === 2,
      );
      const names = await page.texts("pw-links .name");
      assert.ok(
        names.every((name) => !name.includes("s3cret")),
        `no ticket may be in ${names}`,
      );
    }),
  ],

  [
    "the messages of two Portway peers in another page of the same origin are shown",
    async (page) => {
      const own = await page.driver.getWindowHandle();
      await page.driver.switchTo().newWindow("tab");
      const other = await page.driver.getWindowHandle();
      try {
        await page.driver.get(`${page.servers.url}blank`);
        const sent = await page.driver.executeAsyncScript(`
          const done = arguments[0];
          const run = async () => {
            const { default: init, JSONRPCPeer, portTransport } = await import("/pkg/portway.js");
            const { tap } = await import("/pkg/tap.js");
            await init();
            const { port1, port2 } = new MessageChannel();
            const client = new JSONRPCPeer(tap(portTransport(port1), { name: "two ports" }));
            const server = new JSONRPCPeer(portTransport(port2));
            server.method("add", ([a, b]) => a + b);
            server.method("never", () => new Promise(() => {}));
            server.onNotify("note", () => {});
            const sums = [];
            for (let n = 0; n < 20; n += 1) sums.push(await client.request("add", [n, 1]));
            client.notify("note", { when: new Date(0) });
            await client.request("missing").catch(() => {});
            void client.request("never", [], { timeout: 0 }).catch(() => {});
            return sums.length;
          };
          run().then(done, (error) => done(String(error)));`);
        assert.equal(sent, 20);
      } finally {
        await page.driver.switchTo().window(own);
      }
      await page.until("all messages are shown", async () => {
        const rows = await page.rows();
        const results = rows.filter(({ method, kind }) => method === "add" && kind === "result");
        return (
          (results.length === 20 && rows.some(({ calls }) => calls === "pending")) ||
          rows.slice(-4).map(({ kind, method, calls, id, direction }) => [kind, method, calls, id, direction].join(" "))
        );
      });
      await page.waitFor("pw-links .name", "two ports");
      const rows = await page.rows();
      assert.equal(rows.filter(({ code }) => code === -32601).length, 1);
      assert.equal(rows.filter(({ method, kind }) => method === "note" && kind === "notification").length, 1);
      await page.waitFor("pw-strip td", "never");
      await page.driver.switchTo().window(other);
      await page.driver.close();
      await page.driver.switchTo().window(own);
    },
  ],

  [
    "an error with a code of the application, a sent text that is not JSON, and an unexpected response are marked",
    withServer(async (page, server) => {
      await page.connectTo(server.url);
      await page.waitFor(".own", "Connected");
      await page.send(call(1, "fail"));
      await page.waitForRow("the error", ({ code }) => code === -32099);
      await page.send("{nope");
      await page.waitForRow(
        "the sent text is invalid",
        ({ kind, direction }) => kind === "invalid" && direction === "sent",
      );
      server.send('{"id":99,"result":true}');
      const row = await page.waitForRow("the unexpected response", ({ unmatched, id }) => unmatched && id === "99");
      await page.click('pw-strip [role="tab"]', "Unmatched responses");
      await page.waitFor("pw-strip td", "99");
      await page.select(row.seq);
      await page.waitFor('pw-message-view [aria-label="Faults of this message"]');
      const faults = (await page.texts('pw-message-view [aria-label="Faults of this message"] li')).join("; ");
      assert.match(faults, /jsonrpc/);
      await page.screenshot("faults");
    }),
  ],

  [
    "a server that refuses the client ends the attempts, and a disconnect cancels a scheduled attempt",
    withServer(async (page, server) => {
      await page.connectTo(server.url);
      await page.waitFor(".own", "Connected");
      server.close(4401, "log in first");
      await page.waitFor(".own", "Closed");
      await page.waitFor("pw-links .state", "4401: log in first");
      await page.button("Remove");
      await page.connectTo(server.url);
      await page.waitFor(".own", "Connected");
      const before = server.connections;
      await server.kill();
      await page.waitFor(".own", "Waiting");
      await page.button("Disconnect");
      await server.start();
      // The longest delay of the policy is four seconds.
      await new Promise((resolve) => setTimeout(resolve, 4500));
      assert.equal(server.connections, before);
    }),
  ],

  [
    "without the option to reconnect, a link is closed when the server is killed, and an invalid address is reported",
    withServer(async (page, server) => {
      await page.connectTo(server.url, { reconnect: false });
      await page.waitFor(".own", "Connected");
      await server.kill();
      await page.waitFor(".own", "Closed");
      await page.button("Remove");
      await page.fill("Address of a WebSocket", "http://example.org");
      await page.button("Connect");
      await page.waitFor(".error", "must begin with ws://");
      await server.start();
    }),
  ],

  [
    "the composer has templates and saved messages, and a sent message can be sent again or edited",
    async (page) => {
      await page.connectToDummy();
      await page.button("Request");
      await page.pressWithControl(Key.ENTER);
      const request = await page.waitForRow("the request", ({ kind }) => kind === "request");
      await page.button("Notification");
      await page.waitFor("pw-composer li", "this is a notification");
      await page.fill("Message", `[${Array(7).fill("{}").join()}]`);
      await page.waitFor("pw-composer li", "more");
      await page.button("Notification");
      await page.fill("Name of the saved message", "a note");
      await page.button("Save");
      await page.waitFor('select[aria-label="Saved messages"] option, select', "Saved");
      await page.select(request.seq);
      await page.button("Send again");
      await page.until("the request is sent twice", async () => {
        const rows = await page.rows();
        return rows.filter(({ kind }) => kind === "request").length === 2;
      });
      await page.button("Edit");
      const draft = await page.run(`return all("textarea")[0].value`);
      assert.match(draft, /"method":"ping"/);
      assert.match(await page.focused(), /textarea/);
      await page.reload();
      assert.deepEqual(await page.run(`return all("textarea")[0].value`), "");
      assert.deepEqual(
        await page.run(`return [...all("select", "Saved messages")[0].options].map(({ text }) => text)`),
        ["Saved (1)", "a note"],
      );
    },
  ],

  [
    "a message is copied as JSON, as a command and as a test, without its secrets",
    async (page) => {
      await page.take([
        { kind: "open", at: 1_796_000_000_000_000, link: "a", name: "ws://127.0.0.1:9/rpc", transport: "websocket" },
        message("sent", '{"jsonrpc":"2.0","id":1,"method":"it\'s","params":{"n":1.50,"password":"hunter2"}}', "a"),
        message("received", '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}', "a"),
      ]);
      // Browsers that run without a window refuse the clipboard, so this script replaces the clipboard.
      await page.driver.executeAsyncScript(`import("/clipboard.js").then(() => arguments[0]());`);
      await page.select(1);
      const copy = async (form) => {
        await page.waitFor('select[aria-label="Copy"]');
        await page.run(
          `delete document.documentElement.dataset.copied;
           const select = all('select[aria-label="Copy"]')[0]; select.value = arguments[0];
           select.dispatchEvent(new Event("change"));`,
          form,
        );
        let text;
        await page.until("the text is copied", async () => {
          text = await page.run(`return document.documentElement.dataset.copied ?? null`);
          return text !== null;
        });
        return text;
      };
      assert.equal(
        await copy("json"),
        '{"jsonrpc":"2.0","id":1,"method":"it\'s","params":{"n":1.50,"password":"***"}}',
      );
      assert.equal(
        await copy("call"),
        `portway call 'it'\\''s' '{"n":1.50,"password":"***"}' --ws ws://127.0.0.1:9/rpc`,
      );
      assert.match(
        await copy("test"),
        /assert\.rejects\(client\.request\("it's", \{"n":1\.50,"password":"\*\*\*"\}\), \{ code: -32000 \}\)/,
      );
    },
  ],
];
