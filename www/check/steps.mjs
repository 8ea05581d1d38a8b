// The steps of the end-to-end check. The steps run in order on one page, which is not reset between steps.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { assertListed, exchange, logMessages } from "./crossed-messages.mjs";
import { holdResponses } from "./held-responses.mjs";

const app = readFileSync(new URL("../sample/src/App.tsx", import.meta.url), "utf8").split("\n");
const throwLine = app.findIndex((line) => line.includes("throw new Error")) + 1;
// `App.tsx` ends with a line break, so this code is on a new line when a step appends it.
const invalidCode = "export const = 1;";
const messageCount = 10_000;

export const steps = [
  [
    "the first build succeeds",
    async (playground) => {
      await playground.waitForFirstBuild();
      const [request] = await playground.messages({ text: '"entry"' });
      assert.equal(request?.link, "build worker");
      assert.equal(request.method, "build");
      assert.equal(request.calls, "answered");
      const progress = await playground.messages({ method: "buildProgress" });
      assert.ok(progress.length > 0, "the page must receive buildProgress");
    },
  ],

  [
    "the preview shows files that it has fetched by calls to the page",
    async (playground) => {
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Harbour board" }));
      await playground.waitUntilVisible(playground.preview.getByRole("cell", { name: "Aurelia" }));
      const calls = await playground.messages({ method: "fetch" });
      const requests = calls.filter(({ kind }) => kind === "request");
      for (const file of ["/", "/main.js", "/main.css", "/ships.json"]) {
        assert.ok(
          requests.some(({ text }) => text.includes(`"url":"${file}"`)),
          `${file} was not fetched by a call`,
        );
      }
      const answers = calls.filter(({ kind }) => kind === "result");
      assert.ok(
        answers.length >= 4 && answers.every(({ text }) => text.includes('"status":200')),
        "each response must have the status 200",
      );
      assert.deepEqual(
        playground.requests.filter((url) => /main\.(js|css)|ships\.json/.test(url)),
        [],
        "the preview must not fetch files from the server",
      );
      await playground.screenshot("1-light");
    },
  ],

  [
    "a missing file has the status 404, and a route returns index.html",
    async (playground) => {
      const frame = playground.page.frames().find((candidate) => candidate.url().includes("preview.html"));
      const statuses = await frame.evaluate(() =>
        Promise.all(["/none.json", "/a/route"].map((url) => fetch(url).then((r) => r.status))),
      );
      assert.deepEqual(statuses, [404, 200]);
    },
  ],

  [
    "the console shows the console output of the preview",
    async (playground) => {
      await playground.waitUntilVisible(
        playground.consoleEntries("log").filter({ hasText: "Harbour board is up at /" }),
      );
      await playground.preview.getByRole("button", { name: "Moor a ship" }).click();
      await playground.waitUntilVisible(playground.consoleEntries("log").filter({ hasText: "moored { ships: 1 }" }));
    },
  ],

  [
    "the address bar shows the new address after a click on a link of the app",
    async (playground) => {
      await playground.preview.getByRole("link", { name: "About" }).click();
      await playground.until("the address is /about", async () => (await playground.address.inputValue()) === "/about");
    },
  ],

  [
    "the console links a runtime error to its source line",
    async (playground) => {
      await playground.preview.getByRole("button", { name: "Throw an error" }).click();
      const entry = playground.consoleEntries("error").filter({ hasText: "The crane is stuck" });
      await playground.waitUntilVisible(entry);
      const link = entry.getByRole("link");
      assert.equal(await link.innerText(), `src/App.tsx:${throwLine}`);
      await playground.screenshot("2-runtime-error");
      await playground.openFile("style.css");
      await link.click();
      await playground.until(
        "the cursor is on the line",
        async () => (await playground.cursor())?.[0] === throwLine || (await playground.cursor()),
      );
      await playground.waitUntilVisible(playground.page.locator("pw-editor .path", { hasText: "App.tsx" }));
    },
  ],

  [
    "the console shows an unhandled rejection",
    async (playground) => {
      const frame = playground.page.frames().find((candidate) => candidate.url().includes("preview.html"));
      await frame.evaluate(() => void Promise.reject(new Error("no berth left")));
      await playground.waitUntilVisible(
        playground.consoleEntries("error").filter({ hasText: "Unhandled rejection: Error: no berth left" }),
      );
    },
  ],

  [
    "the preview navigates to an address that the user enters",
    async (playground) => {
      await playground.address.fill("/");
      await playground.address.press("Enter");
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
      await playground.address.fill("/about");
      await playground.address.press("Enter");
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "About this preview" }));
      const calls = await playground.messages({ method: "navigate", until: ({ length }) => length >= 4 });
      assert.deepEqual(
        calls.map(({ kind }) => kind),
        ["request", "result", "request", "result"],
      );
    },
  ],

  [
    "Back and Forward move through the history of the preview",
    async (playground) => {
      await playground.button("Back").click();
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
      await playground.button("Forward").click();
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "About this preview" }));
      assert.equal(await playground.button("Forward").isDisabled(), true);
      await playground.button("Back").click();
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "the preview refuses an address of another site with NAVIGATION_FAILED",
    async (playground) => {
      await playground.address.fill("https://example.com/");
      await playground.address.press("Enter");
      await playground.messages({ text: "-32006", until: (rows) => rows.some(({ kind }) => kind === "error") });
      await playground.address.press("Escape");
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "Refresh loads a new document in the same iframe",
    async (playground) => {
      await playground.preview.getByRole("button", { name: "Moor a ship" }).click();
      await playground.waitUntilVisible(playground.preview.getByText("Moor a ship (1)"));
      const before = await playground.page.locator("iframe").elementHandle();
      await playground.button("Refresh").click();
      await playground.waitUntilVisible(playground.preview.getByText("Moor a ship (0)"));
      assert.ok(await before.evaluate((frame) => frame.isConnected), "Refresh must not replace the iframe");
      const isAnswer = ({ kind }) => kind === "result";
      const calls = await playground.messages({ method: "refresh", until: (rows) => rows.some(isAnswer) });
      assert.equal(calls.filter(isAnswer).length, 1);
    },
  ],

  [
    "a build error has the code -32001, a file and a line, and the preview does not change",
    async (playground) => {
      await playground.openFile("App.tsx");
      await playground.typeAtEnd(invalidCode);
      const line = app.length;
      await playground.waitUntilVisible(playground.banner.filter({ hasText: `src/App.tsx:${line}:14` }));
      await playground.waitUntilVisible(
        playground.consoleEntries("error").filter({ hasText: "BUILD_FAILED (-32001)" }),
      );
      await playground.waitUntilVisible(playground.page.locator(".cm-lint-marker-error"));
      const failures = await playground.messages({ text: "-32001" });
      const failure = failures.find(({ kind }) => kind === "error");
      assert.ok(failure?.text.includes(`"file":"src/App.tsx","line":${line}`), failure?.text);
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
      await playground.screenshot("3-build-error");
      await playground.page.keyboard.press("Control+Home");
      await playground.banner.click();
      await playground.until(
        "the cursor is on the line",
        async () => (await playground.cursor())?.[0] === line || (await playground.cursor()),
      );
    },
  ],

  [
    "a build succeeds after the user fixes the code",
    async (playground) => {
      await playground.eraseAtEnd(invalidCode.length);
      await playground.banner.waitFor({ state: "detached" });
      await playground.waitUntilVisible(playground.status.filter({ hasText: "Built" }));
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "the preview shows the newest of several quick edits",
    async (playground) => {
      await playground.openFile("Board.tsx");
      // One of the edits must cancel a build. On a busy machine, each build may end before the next edit. The loop then
      // makes three more edits.
      let edits = 0;
      let isCancelled = false;
      while (!isCancelled && edits < 24) {
        await playground.typeAtEnd("\n");
        for (let n = 0; n < 3; n++) {
          edits++;
          await playground.page.keyboard.insertText(
            `document.title = "edit ${edits}"; console.info("edit ${edits}.");`,
          );
          await playground.page.keyboard.press("Control+s");
        }
        isCancelled = (await playground.messages({ method: "$/cancelRequest" })).length > 0;
      }
      await playground.waitUntilVisible(
        playground
          .consoleEntries("info")
          .filter({ hasText: `edit ${edits}.` })
          .first(),
      );
      assert.ok(isCancelled, "an edit must cancel the running build");
      assert.match(await playground.editor.innerText(), /edit \d/);
      await playground.waitUntilVisible(playground.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "ZenFS and the calls share a worker, and do not affect each other",
    async (playground) => {
      const before = await playground.zenfsRequests();
      assert.ok(before > 50, `ZenFS must have received more than 50 requests, got ${before}`);
      await playground.button("Build").first().click();
      await playground.until(
        "the counter grows during the build",
        async () => (await playground.zenfsRequests()) > before + 10,
      );
      await playground.waitUntilVisible(playground.status.filter({ hasText: "Built" }));
      assert.equal(
        (await playground.messages({ text: "_zenfs" })).length,
        0,
        "the message list must not show messages of ZenFS",
      );
      assert.equal(await playground.consoleEntries("warn").count(), 0);
    },
  ],

  [
    "the user can add and delete files",
    async (playground) => {
      await playground.button("New file").click();
      await playground.page.getByLabel("Path of the new file").fill("src/tides.ts");
      await playground.page.keyboard.press("Enter");
      await playground.waitUntilVisible(playground.page.locator("pw-editor .path", { hasText: "tides.ts" }));
      await playground.button("Delete src/tides.ts").click();
      await playground.page.locator("pw-files").getByText("tides.ts").waitFor({ state: "detached" });
    },
  ],

  [
    "the user can filter, pause and clear the message list",
    async (playground) => {
      const { panel } = playground;
      const rows = panel.locator("pw-message-list .row[data-seq]");
      await playground.showMessages();
      await panel.getByLabel("Link", { exact: true }).selectOption({ label: "build worker" });
      await playground.until("only one link is listed", async () => {
        const shown = await rows.allInnerTexts();
        return (shown.length > 0 && shown.every((text) => text.includes("build worker"))) || shown;
      });
      await panel.getByLabel("Kinds of messages").selectOption("errors");
      await playground.until("only errors are listed", async () => {
        const shown = await rows.allInnerTexts();
        return (shown.length > 0 && shown.every((text) => /error|fault|no response/.test(text))) || shown;
      });
      await panel.getByLabel("Kinds of messages").selectOption("all");
      await panel.getByLabel("Link", { exact: true }).selectOption("");
      await playground.screenshot("4-messages");
      await playground.button("Pause").click();
      await playground.button("Clear").click();
      await playground.button("Refresh").click();
      await playground.waitUntilVisible(panel.getByText(/\d+ waiting/));
      assert.equal(await rows.count(), 0, "a paused list must not show new messages");
      await playground.button("Resume").click();
      await playground.until("the messages of the pause are listed", async () => (await rows.count()) > 3);
      await playground.showConsole();
    },
  ],

  [
    "the panel lists a delayed build as a pending call, and later shows its response and the elapsed time",
    async (playground) => {
      // The compiler of another page waits for its wasm, as over a slow network.
      const release = holdResponses(playground.server, /esbuild[^/]*\.wasm$/);
      const other = await playground.open();
      try {
        await other.showMessages();
        const pending = other.panel.getByRole("table", { name: "Pending calls, oldest first" });
        const row = pending.getByRole("row").filter({ hasText: "build worker" });
        await other.waitUntilVisible(row);
        const [age, method, id, direction] = await row.getByRole("cell").allInnerTexts();
        assert.match(age, /^[\d.]+ (µs|ms|s)$/);
        assert.deepEqual([method, direction], ["build", "sent"]);
        await row.getByRole("button", { name: "build" }).click();
        const between = other.panel.locator("pw-detail .between");
        await other.waitUntilVisible(between.filter({ hasText: "pending for" }));
        await other.screenshot("5-pending");

        release();
        await other.waitForFirstBuild();
        await other.waitUntilVisible(between.filter({ hasText: /answered after [\d.]+ m?s/ }));
        for (const half of ["request", "response"])
          await other.waitUntilVisible(other.panel.getByRole("heading", { name: half, exact: true }));
        await other.waitUntilVisible(other.preview.getByRole("heading", { name: "Harbour board" }));
        await other.screenshot("6-answered");
        const calls = (await other.messages({ method: "build" })).filter((call) => call.method === "build");
        assert.deepEqual(
          calls.map(({ kind, id }) => [kind, id]),
          [
            ["request", id],
            ["result", id],
          ],
        );
        assert.ok(calls[0].elapsed > 0 && calls[0].elapsed === calls[1].elapsed, "both halves must have the time");
        other.assertNoErrors();
      } finally {
        release();
        await other.page.close();
      }
    },
  ],

  [
    "the panel lists 10 000 random messages of the preview, and all messages of the worker, unchanged and in order",
    async (playground) => {
      const seed = Number(process.env.PORTWAY_SEED ?? Math.floor(Math.random() * 2 ** 32));
      console.log(`    PORTWAY_SEED=${seed}`);
      const other = await playground.open(logMessages);
      try {
        await other.waitForFirstBuild();
        await other.waitUntilVisible(other.preview.getByRole("cell", { name: "Aurelia" }));
        await other.showMessages();
        await other.panel.evaluate(({ context: { model } }) => model.configure({ limit: 1e6, bytes: 2 ** 30 }));
        const frame = other.page.frames().find((each) => each.url().endsWith("preview.html"));
        await exchange(frame, seed, messageCount);
        await assertListed(other, frame, messageCount);
        other.assertNoErrors();
      } finally {
        await other.page.close();
      }
    },
  ],

  [
    "the message panel has no accessibility faults in light and in dark colours",
    async (playground) => {
      await playground.showMessages();
      const { panel, page } = playground;
      await panel.getByRole("listbox").focus();
      await page.keyboard.press("End");
      await playground.waitUntilVisible(panel.locator("pw-detail .between"));
      assert.deepEqual(await playground.violations(["pw-app", "pw-panel"]), []);
      await page.emulateMedia({ colorScheme: "dark" });
      await playground.screenshot("7-messages-dark");
      assert.deepEqual(await playground.violations(["pw-app", "pw-panel"]), []);
      for (const tab of ["Unmatched", "Methods", "Sequence", "Links"]) {
        await panel.getByRole("tab", { name: tab }).click();
        assert.deepEqual(await playground.violations(["pw-app", "pw-panel"]), [], tab);
      }
      await page.emulateMedia({ colorScheme: "light" });
      await playground.showConsole();
    },
  ],

  [
    "the user can reach all panes, move a splitter and leave the editor with the keyboard",
    async (playground) => {
      await playground.editor.click();
      await playground.page.keyboard.press("F6");
      assert.match(await playground.focused(), /pw-preview input$/);
      await playground.page.keyboard.press("F6");
      assert.match(await playground.focused(), /pw-panel button$/);
      await playground.page.keyboard.press("ArrowRight");
      await playground.waitUntilVisible(playground.page.getByRole("search", { name: "Filter the messages" }));
      await playground.page.keyboard.press("ArrowLeft");
      await playground.page.keyboard.press("F6");
      assert.match(await playground.focused(), /pw-files button$/);
      await playground.page.keyboard.press("F6");
      assert.match(await playground.focused(), /pw-editor div$/);
      await playground.page.keyboard.press("Control+`");
      assert.match(await playground.focused(), /pw-panel button$/);

      const splitter = playground.page.getByRole("separator", { name: "Width of the file list" });
      const before = Number(await splitter.getAttribute("aria-valuenow"));
      await splitter.focus();
      await playground.page.keyboard.press("ArrowRight");
      await playground.until(
        "the file list is wider",
        async () => Number(await splitter.getAttribute("aria-valuenow")) === before + 16,
      );

      await playground.editor.click();
      await playground.page.keyboard.press("Escape");
      await playground.page.keyboard.press("Tab");
      assert.doesNotMatch(await playground.focused(), /pw-editor div$/, "Escape and Tab must leave the editor");
    },
  ],

  [
    "the colours follow the system until the user selects light or dark colours",
    async (playground) => {
      const background = () => playground.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await playground.page.emulateMedia({ colorScheme: "dark" });
      await playground.until("the background follows the system", async () => (await background()) !== light);
      await playground.screenshot("8-dark");
      await playground.button("Switch to light colours").click();
      assert.equal(await background(), light);
      await playground.button("Switch to dark colours").click();
      assert.notEqual(await background(), light);
    },
  ],

  [
    "all panes fit in a window with a width of 900 pixels",
    async (playground) => {
      await playground.page.setViewportSize({ width: 900, height: 700 });
      const overflow = await playground.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.equal(overflow, 0);
      for (const pane of ["pw-files", "pw-editor", "pw-preview", "pw-panel"]) {
        const box = await playground.page.locator(pane).boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= 901 && box.width >= 120, `${pane} is at ${JSON.stringify(box)}`);
      }
      await playground.screenshot("9-narrow");
      await playground.showMessages();
      const { panel } = playground;
      assert.deepEqual(await playground.violations(["pw-app", "pw-panel"]), []);
      await panel.getByRole("listbox").focus();
      await playground.page.keyboard.press("End");
      await playground.screenshot("10-messages-narrow");
      await playground.page.keyboard.press("Enter");
      await playground.waitUntilVisible(panel.getByRole("tab", { name: "Detail", selected: true }));
      await playground.waitUntilVisible(panel.locator("pw-detail .between"));
      assert.deepEqual(await playground.violations(["pw-app", "pw-panel"]), []);
      const inside = await panel.evaluate((element) => element.scrollWidth - element.clientWidth);
      assert.equal(inside, 0, "the panes of the panel must fit");
      await playground.screenshot("11-detail-narrow");
      await playground.showConsole();
      await playground.page.setViewportSize({ width: 1280, height: 800 });
    },
  ],

  [
    "Reset restores the sample project",
    async (playground) => {
      await playground.button("Reset").click();
      await playground.waitUntilVisible(playground.page.locator("pw-editor .path", { hasText: "App.tsx" }));
      await playground.waitUntilVisible(playground.status.filter({ hasText: "Built" }));
      await playground.openFile("Board.tsx");
      assert.doesNotMatch(await playground.editor.innerText(), /edit \d/);
    },
  ],
];
