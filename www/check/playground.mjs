// Finds the elements of the playground by their visible names and roles, and does the actions of a user.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

const TIMEOUT_MS = 15_000;
/** The time limit of the first build. The compiler is 14 MB of wasm, and the machine may be busy. */
const FIRST_BUILD_TIMEOUT_MS = 90_000;

export class Playground {
  #errors = [];
  /** The addresses of all requests to the server. */
  requests = [];

  /** `server` serves the page, and `open` opens the playground in another page. */
  constructor(page, screenshot, { server, open }) {
    this.page = page;
    this.screenshot = screenshot;
    this.server = server;
    this.open = open;
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

  get panel() {
    return this.page.locator("pw-inspector-panel");
  }

  async showMessages() {
    await this.page.getByRole("tab", { name: /Messages/ }).click();
    await this.waitUntilVisible(this.panel);
  }

  async showConsole() {
    await this.page.getByRole("tab", { name: /Console/ }).click();
  }

  /**
   * Returns the messages that the panel lists for a filter by method or text, oldest first. `until` returns whether all
   * expected messages are listed. Without `until`, returns the messages that have arrived so far.
   */
  async messages({ method = "", text = "", until }) {
    await this.showMessages();
    const more = this.panel.getByRole("button", { name: "More" });
    await more.click();
    const fields = [
      [this.panel.getByLabel("Method", { exact: true }), method],
      [this.panel.getByLabel("Text", { exact: true }), text],
    ];
    for (const [field, value] of fields) await field.fill(value);
    await this.panel.evaluate(waitForRecords);
    let rows = await this.panel.evaluate(listedRows);
    if (until) {
      await this.until(`the expected messages of ${method || text}`, async () => {
        rows = await this.panel.evaluate(listedRows);
        return until(rows) || rows.slice(-5);
      });
    }
    for (const [field] of fields) await field.fill("");
    await more.click();
    await this.showConsole();
    return rows;
  }

  /** Returns the accessibility faults that axe finds in an element, as short texts. */
  async violations(selector) {
    // A script element would be against the policy of the page.
    if (!(await this.page.evaluate(() => "axe" in window))) await this.page.evaluate(axe);
    return this.page.evaluate(async (path) => {
      const { violations } = await window.axe.run(
        { include: [{ fromShadowDom: path }] },
        { iframes: false, resultTypes: ["violations"] },
      );
      return violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map(({ target, failureSummary }) => `${target.flat().join(" ")} ${failureSummary}`).join(" | ")}`,
      );
    }, selector);
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

/** Waits in the page until the panel has taken in all messages that have arrived so far. */
async function waitForRecords({ context: { model } }) {
  // A tap passes its records on after 20 ms. The next batch follows when the batch before has been taken in.
  for (let batch = 0; batch < 4; batch += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await model.whenTaken();
  }
}

/** Returns the listed messages from the model of the panel, because the list renders only the visible messages. */
function listedRows({ context: { model } }) {
  const links = model.core.links();
  return [...model.core.shown()].map((seq) => {
    const { link, direction, kind, method, id, elapsed, calls } = model.core.row(seq);
    return { link: links[link].name, direction, kind, method, id, elapsed, calls, text: model.textOf(seq) ?? "" };
  });
}
