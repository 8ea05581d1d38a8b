// The steps of the end-to-end check. Each step starts with the page as the previous step has left it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const app = readFileSync(new URL("../sample/src/App.tsx", import.meta.url), "utf8").split("\n");
const throwLine = app.findIndex((line) => line.includes("throw new Error")) + 1;
// The file ends with a line break, so appended text is on a new line.
const broken = "export const = 1;";

export const steps = [
  [
    "the first build succeeds",
    async (p) => {
      await p.waitForFirstBuild();
      const [request] = await p.messages("entry");
      assert.equal(request?.boundary, "build");
      assert.equal(request.method, "build");
      assert.ok((await p.messages("buildProgress")).length > 0, "the page must receive buildProgress");
    },
  ],

  [
    "the preview shows files that it has fetched by calls to the page",
    async (p) => {
      await p.see(p.preview.getByRole("heading", { name: "Harbour board" }));
      await p.see(p.preview.getByRole("cell", { name: "Aurelia" }));
      const asked = (await p.messages("fetch")).filter(({ kind }) => kind === "request").map(({ summary }) => summary);
      for (const file of ["/", "/main.js", "/main.css", "/ships.json"]) {
        assert.ok(
          asked.some((summary) => summary.includes(`url: "${file}"`)),
          `${file} was not fetched by a call`,
        );
      }
      const answers = (await p.messages("fetch")).filter(({ kind }) => kind === "result");
      assert.ok(
        answers.length >= 4 && answers.every(({ summary }) => summary.includes("status: 200")),
        "each response must have the status 200",
      );
      assert.deepEqual(
        p.requests.filter((url) => /main\.(js|css)|ships\.json/.test(url)),
        [],
        "the preview must not fetch files from the server",
      );
      await p.screenshot("1-light");
    },
  ],

  [
    "a missing file has the status 404, and a route returns index.html",
    async (p) => {
      const frame = p.page.frames().find((each) => each.url().includes("preview.html"));
      const statuses = await frame.evaluate(() =>
        Promise.all(["/none.json", "/a/route"].map((url) => fetch(url).then((r) => r.status))),
      );
      assert.deepEqual(statuses, [404, 200]);
    },
  ],

  [
    "the console shows the console output of the preview",
    async (p) => {
      await p.see(p.consoleEntries("log").filter({ hasText: "Harbour board is up at /" }));
      await p.preview.getByRole("button", { name: "Moor a ship" }).click();
      await p.see(p.consoleEntries("log").filter({ hasText: "moored { ships: 1 }" }));
    },
  ],

  [
    "the address bar shows the new address after a click on a link of the app",
    async (p) => {
      await p.preview.getByRole("link", { name: "About" }).click();
      await p.until("the address is /about", async () => (await p.address.inputValue()) === "/about");
    },
  ],

  [
    "the console links a runtime error to its source line",
    async (p) => {
      await p.preview.getByRole("button", { name: "Throw an error" }).click();
      const entry = p.consoleEntries("error").filter({ hasText: "The crane is stuck" });
      await p.see(entry);
      const link = entry.getByRole("link");
      assert.equal(await link.innerText(), `src/App.tsx:${throwLine}`);
      await p.screenshot("2-runtime-error");
      await p.openFile("style.css");
      await link.click();
      await p.until(
        "the cursor is on the line",
        async () => (await p.cursor())?.[0] === throwLine || (await p.cursor()),
      );
      await p.see(p.page.locator("pw-editor .path", { hasText: "App.tsx" }));
    },
  ],

  [
    "the console shows an unhandled rejection",
    async (p) => {
      const frame = p.page.frames().find((each) => each.url().includes("preview.html"));
      await frame.evaluate(() => void Promise.reject(new Error("no berth left")));
      await p.see(p.consoleEntries("error").filter({ hasText: "Unhandled rejection: Error: no berth left" }));
    },
  ],

  [
    "the preview navigates to an address that the user enters",
    async (p) => {
      await p.address.fill("/");
      await p.address.press("Enter");
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
      await p.address.fill("/about");
      await p.address.press("Enter");
      await p.see(p.preview.getByRole("heading", { name: "About this preview" }));
      const calls = (await p.messages("navigate")).filter(({ method }) => method === "navigate");
      assert.deepEqual(
        calls.map(({ kind }) => kind),
        ["request", "result", "request", "result"],
      );
    },
  ],

  [
    "Back and Forward move through the history of the preview",
    async (p) => {
      await p.button("Back").click();
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
      await p.button("Forward").click();
      await p.see(p.preview.getByRole("heading", { name: "About this preview" }));
      assert.equal(await p.button("Forward").isDisabled(), true);
      await p.button("Back").click();
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "the preview refuses an address of another site with NAVIGATION_FAILED",
    async (p) => {
      await p.address.fill("https://example.com/");
      await p.address.press("Enter");
      await p.until("the refusal is listed", async () =>
        (await p.messages("-32006")).some(({ kind }) => kind === "error"),
      );
      await p.address.press("Escape");
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "Refresh loads a new document in the same iframe",
    async (p) => {
      await p.preview.getByRole("button", { name: "Moor a ship" }).click();
      await p.see(p.preview.getByText("Moor a ship (1)"));
      const before = await p.page.locator("iframe").elementHandle();
      await p.button("Refresh").click();
      await p.see(p.preview.getByText("Moor a ship (0)"));
      assert.ok(await before.evaluate((frame) => frame.isConnected), "Refresh must not replace the iframe");
      const answers = (await p.messages("refresh")).filter(({ kind }) => kind === "result");
      assert.equal(answers.length, 1);
    },
  ],

  [
    "a build error has the code -32001, a file and a line, and the preview does not change",
    async (p) => {
      await p.openFile("App.tsx");
      await p.typeAtEnd(broken);
      const line = app.length;
      await p.see(p.banner.filter({ hasText: `src/App.tsx:${line}:14` }));
      await p.see(p.consoleEntries("error").filter({ hasText: "BUILD_FAILED (-32001)" }));
      await p.see(p.page.locator(".cm-lint-marker-error"));
      const [failure] = (await p.messages("-32001")).filter(({ kind }) => kind === "error");
      assert.ok(failure?.summary.includes(`file: "src/App.tsx", line: ${line}`), failure?.summary);
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
      await p.screenshot("3-build-error");
      await p.page.keyboard.press("Control+Home");
      await p.banner.click();
      await p.until("the cursor is on the line", async () => (await p.cursor())?.[0] === line || (await p.cursor()));
    },
  ],

  [
    "a build succeeds after the user fixes the code",
    async (p) => {
      await p.eraseAtEnd(broken.length);
      await p.banner.waitFor({ state: "detached" });
      await p.see(p.status.filter({ hasText: "Built" }));
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "the preview shows the newest of several quick edits",
    async (p) => {
      await p.openFile("Board.tsx");
      // On a busy machine, a build may end before the next edit. The loop then makes three more edits.
      let edits = 0;
      let isCancelled = false;
      while (!isCancelled && edits < 24) {
        await p.typeAtEnd("\n");
        for (let n = 0; n < 3; n++) {
          edits++;
          await p.page.keyboard.insertText(`document.title = "edit ${edits}"; console.info("edit ${edits}.");`);
          await p.page.keyboard.press("Control+s");
        }
        isCancelled = (await p.messages("$/cancelRequest")).length > 0;
      }
      await p.see(
        p
          .consoleEntries("info")
          .filter({ hasText: `edit ${edits}.` })
          .first(),
      );
      assert.ok(isCancelled, "an edit must cancel the running build");
      assert.match(await p.editor.innerText(), /edit \d/);
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "ZenFS and the calls share a worker, and do not affect each other",
    async (p) => {
      const before = await p.zenfsRequests();
      assert.ok(before > 50, `ZenFS must have received more than 50 requests, got ${before}`);
      await p.button("Build").first().click();
      await p.until("the counter grows during the build", async () => (await p.zenfsRequests()) > before + 10);
      await p.see(p.status.filter({ hasText: "Built" }));
      assert.equal((await p.messages("_zenfs")).length, 0, "the message list must not show messages of ZenFS");
      assert.equal(await p.consoleEntries("warn").count(), 0);
    },
  ],

  [
    "the user can add and delete files",
    async (p) => {
      await p.button("New file").click();
      await p.page.getByLabel("Path of the new file").fill("src/tides.ts");
      await p.page.keyboard.press("Enter");
      await p.see(p.page.locator("pw-editor .path", { hasText: "tides.ts" }));
      await p.button("Delete src/tides.ts").click();
      await p.page.locator("pw-files").getByText("tides.ts").waitFor({ state: "detached" });
    },
  ],

  [
    "the user can filter, pause and clear the message list",
    async (p) => {
      await p.page.getByRole("tab", { name: /Messages/ }).click();
      await p.page.getByLabel("Boundary").selectOption("build");
      await p.until(
        "only one boundary is listed",
        async () => (await p.page.locator('pw-messages [data-boundary="preview"]').count()) === 0,
      );
      await p.screenshot("4-messages");
      await p.page.getByLabel("Boundary").selectOption("");
      await p.button("Pause").click();
      await p.button("Clear").click();
      await p.button("Refresh").click();
      await p.see(p.page.getByText("No message to show."));
      await p.button("Resume").click();
      await p.button("Refresh").click();
      await p.until(
        "messages are listed again",
        async () => (await p.page.locator("pw-messages .rows .row").count()) > 3,
      );
      await p.page.getByRole("tab", { name: /Console/ }).click();
    },
  ],

  [
    "the user can reach all panes with the keyboard",
    async (p) => {
      await p.editor.click();
      await p.page.keyboard.press("F6");
      assert.match(await p.focused(), /pw-preview input$/);
      await p.page.keyboard.press("F6");
      assert.match(await p.focused(), /pw-panel button$/);
      await p.page.keyboard.press("ArrowRight");
      await p.see(p.page.getByLabel("Filter the messages"));
      await p.page.keyboard.press("ArrowLeft");
      await p.page.keyboard.press("F6");
      assert.match(await p.focused(), /pw-files button$/);
      await p.page.keyboard.press("F6");
      assert.match(await p.focused(), /pw-editor div$/);
      await p.page.keyboard.press("Control+`");
      assert.match(await p.focused(), /pw-panel button$/);

      const splitter = p.page.getByRole("separator", { name: "Width of the file list" });
      const before = Number(await splitter.getAttribute("aria-valuenow"));
      await splitter.focus();
      await p.page.keyboard.press("ArrowRight");
      await p.until(
        "the file list is wider",
        async () => Number(await splitter.getAttribute("aria-valuenow")) === before + 16,
      );

      await p.editor.click();
      await p.page.keyboard.press("Escape");
      await p.page.keyboard.press("Tab");
      assert.doesNotMatch(await p.focused(), /pw-editor div$/, "Escape and Tab must leave the editor");
    },
  ],

  [
    "the colours follow the system until the user selects light or dark colours",
    async (p) => {
      const background = () => p.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await p.page.emulateMedia({ colorScheme: "dark" });
      await p.until("the background follows the system", async () => (await background()) !== light);
      await p.screenshot("5-dark");
      await p.button("Switch to light colours").click();
      assert.equal(await background(), light);
      await p.button("Switch to dark colours").click();
      assert.notEqual(await background(), light);
    },
  ],

  [
    "all panes fit in a window with a width of 900 pixels",
    async (p) => {
      await p.page.setViewportSize({ width: 900, height: 700 });
      const overflow = await p.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.equal(overflow, 0);
      for (const pane of ["pw-files", "pw-editor", "pw-preview", "pw-panel"]) {
        const box = await p.page.locator(pane).boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= 901 && box.width >= 120, `${pane} is at ${JSON.stringify(box)}`);
      }
      await p.screenshot("6-narrow");
      await p.page.setViewportSize({ width: 1280, height: 800 });
    },
  ],

  [
    "Reset restores the sample project",
    async (p) => {
      await p.button("Reset").click();
      await p.see(p.page.locator("pw-editor .path", { hasText: "App.tsx" }));
      await p.see(p.status.filter({ hasText: "Built" }));
      await p.openFile("Board.tsx");
      assert.doesNotMatch(await p.editor.innerText(), /edit \d/);
    },
  ],
];
