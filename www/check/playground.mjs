// Finds the elements of the playground by their visible names and roles, and does the actions of a user.
import assert from "node:assert/strict";

const TIMEOUT_MS = 15_000;
/** The time limit of the first build. The compiler is 14 MB of wasm, and the machine may be busy. */
const FIRST_BUILD_TIMEOUT_MS = 90_000;

export class Playground {
  #errors = [];
  /** The addresses of all requests to the server. */
  requests = [];

  constructor(page, screenshot) {
    this.page = page;
    this.screenshot = screenshot;
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("pageerror", (error) => this.#errors.push(`page error: ${error.stack ?? error}`));
    page.on("crash", () => this.#errors.push("the page crashed"));
    page.on("console", (message) => {
      if (message.type() === "error") this.#errors.push(`console error: ${message.text()}`);
    });
    page.on("request", (request) => this.requests.push(request.url()));
    page.on("requestfailed", (request) => {
      const reason = request.failure()?.errorText;
      // If a newer document replaces a document, the browser aborts the script that the old document loads.
      if (request.url().startsWith("blob:") && reason === "net::ERR_ABORTED") return;
      this.#errors.push(`failed: ${request.url()} ${reason}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) this.#errors.push(`status ${response.status()}: ${response.url()}`);
    });
  }

  assertNoErrors() {
    assert.deepEqual(this.#errors, []);
  }

  get preview() {
    return this.page.frameLocator("iframe");
  }

  get address() {
    return this.page.getByLabel("Address of the preview");
  }

  get editor() {
    return this.page.locator(".cm-content");
  }

  get banner() {
    return this.page.locator("pw-editor .banner");
  }

  get status() {
    return this.page.locator("pw-status .build");
  }

  consoleEntries(level) {
    return this.page.locator(`pw-console li[data-level="${level}"]`);
  }

  button(name) {
    return this.page.getByRole("button", { name });
  }

  async waitForFirstBuild() {
    await this.page.locator('pw-status [data-status="ready"]').waitFor({ timeout: FIRST_BUILD_TIMEOUT_MS });
  }

  /**
   * Waits until `condition` returns true. `expected` describes the condition. The error text contains `expected` and
   * the last value that `condition` has returned.
   */
  async until(expected, condition) {
    const end = Date.now() + TIMEOUT_MS;
    let last;
    while (Date.now() < end) {
      last = await condition();
      if (last === true) return;
      await this.page.waitForTimeout(40);
    }
    assert.fail(`timeout; expected: ${expected}; the last value was ${JSON.stringify(last)}`);
  }

  async waitUntilVisible(locator) {
    await locator.waitFor({ state: "visible" });
  }

  /**
   * Returns the cells of the messages that contain `search`. Reads only visible rows, because others are not rendered.
   */
  async messages(search) {
    await this.page.getByRole("tab", { name: /Messages/ }).click();
    await this.page.getByLabel("Filter the messages").fill(search);
    // The visible rows are rendered some animation frames after the filter changes.
    await this.page
      .locator(`pw-messages .rows[data-search=${JSON.stringify(search)} i] :is(.row, .empty)`)
      .first()
      .waitFor();
    const read = async () => {
      await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const rows = await this.page.locator("pw-messages .rows .row").all();
      return Promise.all(rows.map((row) => row.locator("[role=cell]").allInnerTexts()));
    };
    let texts = await read();
    // The rows are complete when two reads are equal.
    for (let before; JSON.stringify(texts) !== before; texts = await read()) before = JSON.stringify(texts);
    await this.page.getByLabel("Filter the messages").fill("");
    await this.page.getByRole("tab", { name: /Console/ }).click();
    return texts.map(([, boundary, direction, kind, method, id, summary]) => ({
      boundary,
      direction,
      kind,
      method,
      id,
      summary,
    }));
  }

  async openFile(name) {
    await this.page.locator("pw-files").getByRole("button", { name, exact: true }).click();
    await this.waitUntilVisible(this.page.locator("pw-editor .path", { hasText: name }));
  }

  async typeAtEnd(text) {
    await this.editor.click();
    await this.page.keyboard.press("Control+End");
    await this.page.keyboard.insertText(text);
  }

  async eraseAtEnd(count) {
    await this.editor.click();
    await this.page.keyboard.press("Control+End");
    for (let i = 0; i < count; i += 1) await this.page.keyboard.press("Backspace");
  }

  /** Returns the number of ZenFS requests in the status bar. */
  async zenfsRequests() {
    const text = await this.page.locator("pw-status .reads").innerText();
    return Number(/\d+/.exec(text)?.[0]);
  }

  /** Returns the line and the column in the status bar. */
  async cursor() {
    const text = await this.page.locator("pw-status .cursor").innerText();
    return /Ln (\d+), Col (\d+)/.exec(text)?.slice(1).map(Number);
  }

  /** Returns the path to the focused element through all shadow roots, as names of elements. */
  focused() {
    return this.page.evaluate(() => {
      let element = document.activeElement;
      const path = [];
      while (element) {
        path.push(element.localName);
        element = element.shadowRoot?.activeElement ?? null;
      }
      return path.join(" ");
    });
  }
}
