// The steps of the end-to-end check. Each step leaves the page in a state for the next one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const app = readFileSync(new URL("../sample/src/App.tsx", import.meta.url), "utf8").split("\n");
const throwLine = app.findIndex((line) => line.includes("throw new Error")) + 1;
// The file ends with a line break, so text at its end is on a line of its own.
const broken = "export const = 1;";

export const steps = [
  [
    "the first build succeeds",
    async (p) => {
      await p.waitForFirstBuild();
      const [request] = await p.messages("entry");
      assert.equal(request?.boundary, "build");
      assert.equal(request.method, "build");
      assert.ok((await p.messages("buildProgress")).length > 0, "no buildProgress arrived");
    },
  ],

  [
    "the preview is rendered from files that came by fetch",
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
        "not all answers are 200",
      );
      assert.deepEqual(
        p.requests.filter((url) => /main\.(js|css)|ships\.json/.test(url)),
        [],
        "a file came from the server",
      );
      await p.screenshot("1-light");
    },
  ],

  [
    "a missing file is a 404, a route falls back to index.html",
    async (p) => {
      const frame = p.page.frames().find((each) => each.url().includes("preview.html"));
      const statuses = await frame.evaluate(() =>
        Promise.all(["/none.json", "/a/route"].map((url) => fetch(url).then((r) => r.status))),
      );
      assert.deepEqual(statuses, [404, 200]);
    },
  ],

  [
    "the preview's console lines show in the console",
    async (p) => {
      await p.see(p.consoleEntries("log").filter({ hasText: "Harbour board is up at /" }));
      await p.preview.getByRole("button", { name: "Moor a ship" }).click();
      await p.see(p.consoleEntries("log").filter({ hasText: "moored { ships: 1 }" }));
    },
  ],

  [
    "the address bar follows the app",
    async (p) => {
      await p.preview.getByRole("link", { name: "About" }).click();
      await p.until("the address is /about", async () => (await p.address.inputValue()) === "/about");
    },
  ],

  [
    "a runtime error shows its source line, and leads there",
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
    "an unhandled rejection shows in the console",
    async (p) => {
      const frame = p.page.frames().find((each) => each.url().includes("preview.html"));
      await frame.evaluate(() => void Promise.reject(new Error("no berth left")));
      await p.see(p.consoleEntries("error").filter({ hasText: "Unhandled rejection: Error: no berth left" }));
    },
  ],

  [
    "navigate is obeyed",
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
    "back and forward walk the preview's history",
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
    "an address elsewhere is refused with NAVIGATION_FAILED",
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
    "refresh is obeyed: a new document in the same frame",
    async (p) => {
      await p.preview.getByRole("button", { name: "Moor a ship" }).click();
      await p.see(p.preview.getByText("Moor a ship (1)"));
      const before = await p.page.locator("iframe").elementHandle();
      await p.button("Refresh").click();
      await p.see(p.preview.getByText("Moor a ship (0)"));
      assert.ok(await before.evaluate((frame) => frame.isConnected), "the frame was replaced");
      const answers = (await p.messages("refresh")).filter(({ kind }) => kind === "result");
      assert.equal(answers.length, 1);
    },
  ],

  [
    "a build error is -32001 with file and line, and the last good preview stays",
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
    "fixing the code recovers by itself",
    async (p) => {
      await p.eraseAtEnd(broken.length);
      await p.banner.waitFor({ state: "detached" });
      await p.see(p.status.filter({ hasText: "Built" }));
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "of quick edits the newest wins",
    async (p) => {
      await p.openFile("Board.tsx");
      // On a busy machine, a build may end before the next edit is typed: then three more edits follow.
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
      assert.ok(isCancelled, "no earlier build was cancelled");
      await p.see(p.preview.getByRole("heading", { name: "Arrivals" }));
    },
  ],

  [
    "ZenFS goes on beside the calls on the same worker",
    async (p) => {
      const before = await p.zenfsRequests();
      assert.ok(before > 50, `only ${before} requests so far`);
      await p.button("Build").first().click();
      await p.until("the counter grows while it builds", async () => (await p.zenfsRequests()) > before + 10);
      await p.see(p.status.filter({ hasText: "Built" }));
      assert.equal((await p.messages("_zenfs")).length, 0, "a message of ZenFS was taken for one of ours");
      assert.equal(await p.consoleEntries("warn").count(), 0);
    },
  ],

  [
    "files can be added and deleted",
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
    "the message list filters, pauses and clears",
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
    "the keyboard is enough",
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
      assert.doesNotMatch(await p.focused(), /pw-editor div$/, "Tab does not leave the editor");
    },
  ],

  [
    "dark colours by the system and by the switch",
    async (p) => {
      const background = () => p.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await p.page.emulateMedia({ colorScheme: "dark" });
      await p.until("it follows the system", async () => (await background()) !== light);
      await p.screenshot("5-dark");
      await p.button("Switch to light colours").click();
      assert.equal(await background(), light);
      await p.button("Switch to dark colours").click();
      assert.notEqual(await background(), light);
    },
  ],

  [
    "it can be used in a window 900 wide",
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
    "reset puts the sample back",
    async (p) => {
      await p.button("Reset").click();
      await p.see(p.page.locator("pw-editor .path", { hasText: "App.tsx" }));
      await p.see(p.status.filter({ hasText: "Built" }));
      await p.openFile("Board.tsx");
      assert.ok(!(await p.editor.innerText()).includes("edit three"));
    },
  ],
];
