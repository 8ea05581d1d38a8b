// The steps of `../command-check.mjs`: they check the page that `portway tap --inspect` or `portway inspect` serves.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Editor, InspectingCommand, PLACE, programOf, replaySession } from "./command.mjs";
import { message } from "./records.mjs";

const LSP_DEVTOOLS = fileURLToPath(
  new URL("../../../crates/portway-inspector/tests/lsp-devtools.jsonl", import.meta.url),
);

/**
 * Returns a step that starts the command, runs `step`, and stops the command. `argumentsFor` receives the path of a new
 * folder for files, and returns the arguments of the command.
 */
const withCommand = (argumentsFor, step) => async (page) => {
  const folder = mkdtempSync(join(tmpdir(), "portway-inspect-"));
  const command = new InspectingCommand(argumentsFor(folder));
  try {
    await page.openAt(await command.address());
    await step(page, command, folder);
  } finally {
    command.stop();
    rmSync(folder, { recursive: true });
  }
};

const phase = (page, name) => page.waitFor(`.command[data-phase="${name}"]`);

/** Returns the records of one direction, without the members that may differ between the page and the file. */
const inDirection = (records, direction) =>
  records
    .filter((record) => record.direction === direction)
    .map(({ kind, text, base64, size, reason }) => ({ kind, text, base64, size, reason }));

/** Returns the records of all shown rows. */
const shownRecords = (page) =>
  page.run(`const { core } = model(); return [...core.shown()].map((seq) => model().recordOf(seq));`);

const recordsOfFile = (file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

export const commandSteps = [
  [
    "portway tap --inspect -- pylsp shows a pending call of an editor, and the same records as the file of --to-file",
    withCommand(
      (folder) => ["tap", "--inspect", "--to-file", join(folder, "lsp.jsonl"), "--", programOf("PORTWAY_PYLSP")],
      async (page, command, folder) => {
        await phase(page, "live");
        const editor = new Editor(command);
        await replaySession(editor);
        await page.waitForRow(
          "the result of the hover",
          ({ kind, method }) => kind === "result" && method === "textDocument/hover",
        );
        // The server is suspended, so that the next call stays pending.
        const server = await command.program();
        process.kill(server, "SIGSTOP");
        editor.send({ id: 3, method: "textDocument/hover", params: PLACE });
        await page.until("the call is pending for more than a second", async () => {
          const rows = await page.texts("pw-strip tbody tr");
          const [, age] = /^([\d.]+) s ?textDocument\/hover ?3 ?sent/.exec(rows.join()) ?? [];
          return Number(age) >= 1 || rows;
        });
        const found = Date.now() - command.started;
        console.log(`    the call was found ${Math.round(found / 1000)} s after the start of the command`);
        assert.ok(found < 60_000, `the call must be found within a minute, got ${found} ms`);
        await page.click("pw-strip button.row");
        await page.waitFor(".between", "pending for");
        await page.screenshot("tap-pending");
        process.kill(server, "SIGCONT");
        await editor.response(3);
        await page.waitFor("pw-strip p.empty", "No call is pending");
        await editor.call(4, "shutdown");
        editor.send({ method: "exit" });
        assert.equal(await command.exitCode(), 0);
        await phase(page, "ended");
        await page.waitForRow("the end of the link", ({ kind }) => kind === "close");
        await page.screenshot("tap-ended");
        const [shown, recorded] = [await shownRecords(page), recordsOfFile(join(folder, "lsp.jsonl"))];
        assert.equal(shown.length, recorded.length);
        assert.ok(inDirection(shown, "sent").length >= 7);
        for (const direction of ["sent", "received"])
          assert.deepEqual(inDirection(shown, direction), inDirection(recorded, direction));
        const [open, close] = [shown[0], shown.at(-1)];
        assert.deepEqual([open.kind, open.name], ["open", programOf("PORTWAY_PYLSP")]);
        assert.deepEqual([close.kind, close.code], ["close", 0]);
      },
    ),
  ],

  [
    "a page that is opened later shows the same records, and a killed command is reported as lost",
    withCommand(
      () => ["tap", "--inspect", "--", "cat"],
      async (page, command) => {
        await phase(page, "live");
        assert.deepEqual(await page.violations(), []);
        // These records arrive in several chunks. All of them fit in the queue of a tap, so none is dropped.
        for (let id = 1; id <= 300; id += 1)
          command.child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"é","params":["${"ü".repeat(500)}"]}\n`);
        const all = () => page.until("all rows", async () => (await page.rows()).length === 601 || "fewer");
        await all();
        const early = await shownRecords(page);
        await page.reload();
        await all();
        assert.deepEqual(await shownRecords(page), early);
        command.stop();
        await phase(page, "lost");
        await page.waitFor(".notice", "no further records of portway tap");
        await page.waitForRow("the end of the link", ({ kind }) => kind === "close");
        await page.waitFor("pw-strip p.empty", "No call is pending");
        await page.screenshot("tap-lost");
        // The page still works.
        await page.connectToDummy();
      },
    ),
  ],

  [
    "portway inspect --open shows records and lines of lsp-devtools, and names of files as text",
    withCommand(
      (folder) => {
        const file = join(folder, "<img src=x>.jsonl");
        const records = [message("sent", '{"jsonrpc":"2.0","id":"mine","method":"opened"}')];
        writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
        return ["inspect", "--open", LSP_DEVTOOLS, "--open", file];
      },
      async (page, command) => {
        await page.waitFor(".command", "portway inspect: connected");
        await page.waitForRow("the record", ({ method, id }) => method === "opened" && id === '"mine"');
        await page.waitForRow("the call of lsp-devtools", ({ method }) => method === "initialize");
        await page.waitFor(".notice", "records of lsp-devtools.jsonl");
        await page.waitFor(".notice", "1 records of <img src=x>.jsonl");
        // The only image is the icon in the header.
        assert.equal(await page.count("img"), 1);
        await page.screenshot("inspect-open");
        command.child.kill("SIGINT");
        assert.equal(await command.exitCode(), 0);
        await phase(page, "ended");
      },
    ),
  ],

  [
    "a sixth page is refused, and a narrow window shows the state of the command",
    withCommand(
      () => ["tap", "--inspect", "--", "cat"],
      async (page, command) => {
        const address = await command.address();
        const streams = await Promise.all([1, 2, 3, 4].map(() => fetch(`${address}records`)));
        await phase(page, "live");
        const sixth = await fetch(`${address}records`);
        assert.equal(sixth.status, 503);
        streams[0].body.cancel();
        await page.driver.manage().window().setRect({ width: 480, height: 800 });
        await page.until("the narrow layout", async () => (await page.count(".switch")) === 1);
        await page.waitFor(".command", "portway tap: connected");
        await page.screenshot("tap-narrow");
        assert.deepEqual(await page.violations(), []);
        for (const stream of streams.slice(1)) stream.body.cancel();
      },
    ),
  ],
];
