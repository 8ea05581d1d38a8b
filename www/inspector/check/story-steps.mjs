// A step of `../check.mjs` that does all that a developer does with one server, `portway serve --demo`. The server is
// killed and restarted. Before that, another server sends an invalid response. PORTWAY_CLI is the path of `portway`.
import assert from "node:assert/strict";
import { freePort, Program, programOf } from "../../../tests/peers/websocket/programs.mjs";
import { PeerServer } from "./servers.mjs";

const call = (id, method, params) => JSON.stringify({ jsonrpc: "2.0", id, method, ...(params && { params }) });

/** Starts `portway serve --demo` for the origin of the page. */
async function startDemo(page, port) {
  const { origin } = new URL(page.servers.url);
  const words = ["serve", "--demo", "--ws", `127.0.0.1:${port}`, "--origin", origin];
  const server = new Program(programOf("PORTWAY_CLI"), words);
  await server.matches(/listening on ws:/);
  return server;
}

/** Sends a request, a batch and a request for an unknown method, and checks the rows of the responses. */
async function exchange(page) {
  await page.send(call(1, "echo", { text: "é€😀" }));
  const result = await page.waitForRow(
    "the result of echo",
    ({ kind, method }) => kind === "result" && method === "echo",
  );
  assert.ok(result.elapsed > 0);
  await page.send(`[${call(2, "ping")},${call(3, "echo", [3])},{"jsonrpc":"2.0","method":"note"}]`);
  await page.waitForRow("the answered batch", ({ kind, calls }) => kind === "batch" && calls === "answered");
  await page.send(call(4, "no such method"));
  const error = await page.waitForRow("the error", ({ kind, id }) => kind === "error" && id === "4");
  assert.equal(error.code, -32601);
  await page.waitForRow("the heartbeat of the server", ({ method }) => method === "stream.heartbeat");
}

/** Checks that an invalid response is marked, and that its faults are listed. */
async function exchangeWithInvalidServer(page) {
  const server = new PeerServer();
  await server.start();
  try {
    await page.connectTo(server.url, { reconnect: false });
    await page.waitFor(".own", "Connected");
    await page.send(call(1, "never"));
    await page.until("the request arrives", async () => server.received.length === 1 || server.received);
    server.send('{"id":1,"result":true,"error":null}');
    const row = await page.waitForRow(
      "the invalid response",
      ({ direction, id, hasErrors }) => direction === "received" && id === "1" && hasErrors,
    );
    await page.select(row.seq);
    await page.waitFor('pw-message-view [aria-label="Faults of this message"] li', "jsonrpc");
    await page.button("Disconnect");
  } finally {
    await server.kill();
  }
}

/** Filters the list by a method, and removes the filter. */
async function filter(page) {
  await page.fill("Method", "echo");
  const methods = new Set((await page.rows()).map(({ method }) => method));
  assert.deepEqual([...methods], ["echo"]);
  await page.fill("Method", "");
}

/** Exports all rows, clears the history and imports the file. The second export must be equal. */
async function exportAndImport(page) {
  const exported = () => page.export("jsonl");
  const shape = (rows) => rows.map(({ kind, method, id, direction, calls }) => [kind, method, id, direction, calls]);
  const first = await exported();
  const rows = await page.rows();
  await page.button("Clear");
  assert.deepEqual(await page.rows(), []);
  await page.driver.executeAsyncScript(
    `const done = arguments[1]; const { model } = document.querySelector("pw-inspector").context;
     model.importText("messages.jsonl", arguments[0]);
     model.whenTaken().then(() => requestAnimationFrame(() => done()));`,
    first.text,
  );
  assert.equal((await exported()).text, first.text);
  assert.deepEqual(shape(await page.rows()), shape(rows));
}

export const storySteps = [
  [
    "the story: a request, a batch, an error, an invalid answer, a pending call, a killed server, and the same messages after an import",
    async (page) => {
      const port = await freePort();
      let server = await startDemo(page, port);
      try {
        await exchangeWithInvalidServer(page);
        await page.connectTo(`ws://127.0.0.1:${port}/`);
        await page.waitFor(".own", "Connected");
        await exchange(page);
        await page.send(call(5, "slow", { ms: 3_600_000 }));
        await page.waitFor("pw-strip td", "slow");
        await page.until("the age of the pending call grows beyond a second", async () => {
          const [text] = await page.texts("pw-strip tbody td.number");
          return (text?.endsWith(" s") && Number.parseFloat(text) >= 1) || text;
        });
        await page.screenshot("story-pending");

        await server.end("SIGKILL");
        await page.waitForRow(
          "the pending call has ended",
          ({ method, calls }) => method === "slow" && calls === "ended",
        );
        await page.waitFor(".own", "Waiting");
        server = await startDemo(page, port);
        await page.waitFor(".own", "Connected");
        await page.waitFor(".badge", "1 reconnect");
        await page.send(call(6, "ping"));
        await page.waitForRow("a result after the restart", ({ kind, id }) => kind === "result" && id === "6");

        await page.button("Disconnect");
        await filter(page);
        await exportAndImport(page);
        await page.screenshot("story-imported");
      } finally {
        await server.end();
      }
    },
  ],
];
