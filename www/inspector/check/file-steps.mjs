// The steps of the check of the inspector page that open recordings of real programs. `files/record.mjs` has recorded
// these files, except the recording of lsp-devtools. That file belongs to the tests of the core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openFile } from "./open-file.mjs";

const LSP_DEVTOOLS = "../../../crates/portway-inspector/tests/lsp-devtools.jsonl";

/** Returns a step that opens a file, and then runs `check`. */
const opened = (path, check) => async (page) => {
  await openFile(page, path.split("/").at(-1), readFileSync(new URL(path, import.meta.url), "utf8"));
  await check(page);
};

/** Returns each row as a line: an arrow, the kind, the method, the id, and the code. */
async function lines(page) {
  const rows = await page.rows();
  return rows.map(({ kind, direction, method, id, code }) =>
    [direction === "sent" ? "→" : direction === "received" ? "←" : "·", kind, method, id, code]
      .filter((part) => part !== null)
      .join(" "),
  );
}

/** Returns the sequence numbers of the rows that have an error: a finding about the message, or a fault of the row. */
const faulty = async (page) => (await page.rows()).filter(({ hasErrors }) => hasErrors).map(({ seq }) => seq);

const areAnswered = ({ calls: stateOfCalls }) => stateOfCalls === "answered";

export const fileSteps = [
  [
    "a session with aria2 shows a download with its notifications, two errors, and no token",
    opened("files/aria2.jsonl", async (page) => {
      assert.deepEqual(await lines(page), [
        "· open",
        "→ request aria2.getVersion 1",
        "← result aria2.getVersion 1",
        "→ request aria2.addUri 2",
        "← result aria2.addUri 2",
        "← notification aria2.onDownloadStart",
        "← notification aria2.onDownloadComplete",
        "→ request aria2.tellStatus 3",
        "→ request aria2.frobnicate 4",
        "→ request aria2.getVersion 5",
        "← result aria2.tellStatus 3",
        "← error aria2.frobnicate 4 1",
        "← error aria2.getVersion 5 1",
        "· close 1000",
      ]);
      assert.deepEqual(await faulty(page), []);
      const rows = await page.rows();
      assert.ok(rows.at(-2).elapsed > 1_000_000, "aria2 must delay the answer to a wrong token");
      assert.ok(rows.filter(({ kind }) => kind === "request").every(areAnswered));
      assert.doesNotMatch((await page.export("jsonl")).text, /s3cret|token:wrong/);
    }),
  ],

  [
    "a session with ganache shows the subscription and its block headers",
    opened("files/ganache.jsonl", async (page) => {
      assert.deepEqual(await lines(page), [
        "· open",
        "→ request eth_subscribe 1",
        "← result eth_subscribe 1",
        "← notification eth_subscription",
        "← notification eth_subscription",
        "→ request eth_unsubscribe 2",
        "← result eth_unsubscribe 2",
        "· close 1000",
      ]);
      assert.deepEqual(await faulty(page), []);
      await page.fill("Text", '"subscription":"0x1"');
      assert.equal((await lines(page)).length, 2);
    }),
  ],

  [
    "the events of rpc-websockets are shown as invalid, with the reason: they are not JSON-RPC",
    opened("files/rpc-websockets.jsonl", async (page) => {
      assert.deepEqual(await lines(page), [
        "· open",
        "→ request rpc.on 1",
        "← result rpc.on 1",
        "→ request add 2",
        "← result add 2",
        "← invalid",
        "← invalid",
        "← invalid",
        "→ request missing 3",
        "← error missing 3 -32601",
        "· close 1000",
      ]);
      assert.deepEqual(await faulty(page), [5, 6, 7]);
      await page.select(5);
      const list = 'pw-message-view [aria-label="Faults of this message"]';
      await page.waitFor(list);
      assert.match((await page.texts(`${list} li`)).join("; "), /jsonrpc/);
    }),
  ],

  [
    "a session with portway serve --demo shows a batch, a heartbeat, and a text that is not JSON",
    opened("files/demo.jsonl", async (page) => {
      assert.deepEqual(await lines(page), [
        "· open",
        "← notification stream.heartbeat",
        "→ request ping 1",
        '→ request echo "two"',
        "→ batch",
        "← result ping 1",
        '← result echo "two"',
        "← batch",
        "→ invalid",
        "← error null -32700",
        "· close 1000",
      ]);
      const [sent, received] = (await page.rows()).filter(({ kind }) => kind === "batch");
      assert.deepEqual([sent.items, received.items], [2, 2]);
      assert.ok(areAnswered(sent));
      // Row 8 is the invalid text. Row 9 is its error response: the id is null, so no call matches this response.
      assert.deepEqual(await faulty(page), [8, 9]);
      const pending = await page.run(`return model().totals().pending`);
      assert.equal(pending, 0);
    }),
  ],

  [
    "the HAR of Chromium shows the messages of the WebSocket with their times",
    opened("files/chromium.har", async (page) => {
      assert.deepEqual(await lines(page), [
        "· open",
        "→ request ping 1",
        "→ request echo 2",
        "→ request missing 3",
        "← result ping 1",
        "← result echo 2",
        "← error missing 3 -32601",
        "← notification stream.heartbeat",
      ]);
      const rows = await page.rows();
      const [, ping, , , pong] = rows;
      assert.equal(pong.elapsed, pong.at - ping.at);
      assert.ok(pong.elapsed > 0 && pong.elapsed < 1_000_000);
      await page.waitFor("pw-links .name", "ws://127.0.0.1");
      assert.deepEqual(await faulty(page), []);
    }),
  ],

  [
    "a recording of lsp-devtools shows the session of an editor, with the inferred senders",
    opened(LSP_DEVTOOLS, async (page) => {
      const shown = await lines(page);
      assert.equal(shown.length, 11);
      assert.deepEqual(shown.slice(0, 3), ["· open", "→ request initialize 1", "← result initialize 1"]);
      assert.ok(shown.includes("← notification textDocument/publishDiagnostics"), shown.join("; "));
      const rows = await page.rows();
      assert.ok(rows.filter(({ kind }) => kind === "request").every(areAnswered));
      assert.match(await page.run(`return model().notice.value`), /no times/);
    }),
  ],
];
