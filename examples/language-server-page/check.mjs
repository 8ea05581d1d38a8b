// Starts `portway serve -- pylsp`, opens the page in headless Chromium, and reads the diagnostics and a hover:
// `node examples/language-server-page/check.mjs`. PORTWAY_CLI is the path of `portway`, and PORTWAY_PYLSP is the path
// of pylsp.

import assert from "node:assert/strict";
import { inPage, report } from "../check-in-chromium.mjs";
import { Program, programOf } from "../../tests/peers/websocket/programs.mjs";

const pageFile = new URL("index.html", import.meta.url);
/** The running `portway serve`. */
let server;

/** Starts `portway serve` for pages of `origin`. Returns the query of the page's URL, which names the server. */
async function serve(origin, address = "127.0.0.1:0") {
  const args = ["serve", "--ws", address, "--origin", origin, "--", programOf("PORTWAY_PYLSP")];
  server = new Program(programOf("PORTWAY_CLI"), args);
  return `?server=${encodeURIComponent(await server.matches(/listening on (ws:\S+)/))}`;
}

/**
 * Moves the cursor to the position after a text in the editor. First, the cursor is set one character too far. Then a
 * key moves the cursor back, because the page requests a hover only after a key or a click.
 */
async function moveCursorAfter(page, text) {
  const editor = page.locator("#editor");
  await editor.evaluate((editor, text) => {
    const end = editor.value.indexOf(text) + text.length;
    editor.focus();
    editor.setSelectionRange(end + 1, end + 1);
  }, text);
  await editor.press("ArrowLeft");
}

await report({
  async "the page shows diagnostics and a hover, and new diagnostics after a change and after a restart"() {
    let query;
    const start = async (origin) => (query = await serve(origin));
    try {
      await inPage(
        pageFile,
        async (page, waitForText, errors) => {
          await waitForText("state", "connected to pylsp");
          await waitForText("diagnostics", "line 1: 'os' imported but unused");
          await waitForText("diagnostics", "line 10: undefined name 'hight'");
          await moveCursorAfter(page, "print(area");
          await waitForText("hover", "area(width: int, height: int) -> int");
          await waitForText("hover", "Returns the area of a rectangle.");

          const editor = page.locator("#editor");
          await editor.fill((await editor.inputValue()).replace("import os", "import sys").replace("(hight", "(area"));
          await waitForText("diagnostics", "line 1: 'sys' imported but unused");
          assert.ok(!(await page.locator("#diagnostics").textContent()).includes("hight"));

          // The server ends, and another server starts at the same address. The page connects to the new server, and
          // sends the current text to a new pylsp.
          await server.end("SIGTERM");
          await page.locator("#state", { hasText: "connected" }).waitFor({ state: "detached" });
          await page.locator("#diagnostics").evaluate((list) => list.replaceChildren());
          const { origin } = new URL(page.url());
          await serve(origin, new URL(decodeURIComponent(query.slice("?server=".length))).host);
          await waitForText("state", "connected to pylsp");
          await waitForText("diagnostics", "line 1: 'sys' imported but unused");
          // Chromium logs each failed attempt to connect between the two servers.
          for (const error of errors.splice(0))
            assert.match(error, /^WebSocket connection to .*ERR_CONNECTION_REFUSED$/);
        },
        start,
      );
    } finally {
      await server?.end();
    }
  },
});
