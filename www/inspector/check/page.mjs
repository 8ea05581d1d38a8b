// Finds the elements of the inspector by their visible names, and does the actions of a user. The elements are in
// shadow roots, which the locators of Selenium do not search. So a script in the page finds them.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Key } from "selenium-webdriver";

const TIMEOUT_MS = 20_000;

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * A script that defines two functions: `all(selector, text)` returns the visible elements in all shadow roots, and
 * `model()` returns the model of the inspector or of its panel.
 */
const FIND = `
  const all = (selector, text) => {
    const found = [];
    // A selector does not cross a shadow root. So the selector "pw-x button" is split: pw-x must be the host of the
    // shadow root, and button must match the element.
    const [, host, inner] = /^(pw-[\\w-]+) (.+)$/.exec(selector) ?? [];
    const visit = (root) => {
      for (const element of root.querySelectorAll("*")) {
        if (element.matches(inner ?? selector) && (!host || root.host?.localName === host)) found.push(element);
        if (element.shadowRoot) visit(element.shadowRoot);
      }
    };
    visit(document);
    const nameOf = (element) => element.getAttribute("aria-label") ?? (element.labels?.[0] ?? element).textContent.trim().replace(/\\s+/g, " ");
    return found.filter((element) => element.getClientRects().length > 0)
      .filter((element) => text === null || text === undefined || nameOf(element).includes(text));
  };
  const model = () => (document.querySelector("pw-inspector") ?? all("pw-inspector-panel")[0]).context.model;
`;

export class InspectorPage {
  constructor(driver, servers, engine, shots) {
    this.driver = driver;
    this.servers = servers;
    this.engine = engine;
    this.shots = shots;
  }

  /**
   * Loads the page once, without stored data. Another page of the origin clears the data. If a page of Firefox is left
   * while it compiles wasm, later pages may never finish their own compilation.
   */
  async open(width = 1360) {
    await this.driver.manage().window().setRect({ width, height: 900 });
    await this.driver.get(new URL("/blank", this.servers.url).href);
    await this.run(`localStorage.clear();`);
    await this.reload();
  }

  /** Opens the page at another address. */
  async openAt(url) {
    this.servers = { ...this.servers, url };
    await this.open();
  }

  async reload() {
    await this.driver.get(this.servers.url);
    await this.started();
    await this.run(`
      const errors = document.documentElement.dataset;
      addEventListener("error", (event) => { errors.errors = (errors.errors ?? "") + event.message + "; "; });
      addEventListener("unhandledrejection", (event) => { errors.errors = (errors.errors ?? "") + event.reason + "; "; });
    `);
  }

  /** Waits until the inspector can show messages. */
  async started() {
    await this.until("the inspector starts", () =>
      this.run(`return Boolean(document.querySelector("pw-inspector")?.context)`),
    );
  }

  async assertNoErrors() {
    assert.equal(await this.run(`return document.documentElement.dataset.errors ?? ""`), "");
    // These are the violations of the content security policy.
    assert.deepEqual(this.servers.violations, []);
  }

  /** Runs a script in the page. The script can use `all` and `model`. */
  run(script, ...values) {
    return this.driver.executeScript(FIND + script, ...values);
  }

  /** Waits until `condition` returns true. The error text contains the last value that `condition` returned. */
  async until(what, condition) {
    const end = Date.now() + TIMEOUT_MS;
    let last;
    while (Date.now() < end) {
      try {
        last = await condition();
      } catch (error) {
        // The page has replaced an element between two commands of the driver, so the condition is checked again.
        if (error.name !== "StaleElementReferenceError") throw error;
        last = error.name;
      }
      if (last === true) return;
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    assert.fail(`${what}; last seen: ${JSON.stringify(last)}`);
  }

  /** Waits for a visible element that matches, and returns the first one. */
  async find(selector, text) {
    let element;
    await this.until(`an element ${selector} ${text ?? ""}`, async () => {
      element = await this.run(`return all(arguments[0], arguments[1])[0] ?? null`, selector, text ?? null);
      return element !== null;
    });
    return element;
  }

  count(selector, text) {
    return this.run(`return all(arguments[0], arguments[1]).length`, selector, text ?? null);
  }

  /** Returns the texts of all visible elements that match. */
  texts(selector, text) {
    return this.run(
      `return all(arguments[0], arguments[1]).map((element) => element.textContent.replace(/\\s+/g, " ").trim())`,
      selector,
      text ?? null,
    );
  }

  async waitFor(selector, text) {
    await this.until(`an element ${selector} ${text ?? ""}`, async () => (await this.count(selector, text)) > 0);
  }

  /**
   * Clicks the first visible element that matches. Tries again if the click fails. The driver clicks at a position, so
   * the click on a moving element can reach another element without an error.
   */
  async click(selector, text) {
    await this.until(`a click on ${selector} ${text ?? ""}`, async () => {
      const element = await this.find(selector, text);
      await this.run(
        `const [element] = arguments;
         element.scrollIntoView({ block: "nearest" });
         window.isClicked = false;
         element.addEventListener("click", () => { window.isClicked = true; }, { capture: true, once: true });`,
        element,
      );
      try {
        await element.click();
      } catch (error) {
        return error.name;
      }
      // A click on a link can load another page. Then `window.isClicked` is undefined.
      return this.run(`return window.isClicked !== false || "the click reached another element"`);
    });
  }

  button(text) {
    return this.click("button", text);
  }

  /** Replaces the text of a field. */
  async fill(label, text) {
    await this.until(`a field ${label}`, () =>
      this.run(
        `const [label, text] = arguments;
         const element = all("input, textarea", label)[0];
         if (!element) return false;
         element.value = text;
         element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
         element.dispatchEvent(new Event("change", { bubbles: true, composed: true }));
         return true;`,
        label,
        text,
      ),
    );
  }

  /** Waits until the page has drawn two frames, so that changes of its layout are complete. */
  async drawn() {
    await this.driver.executeAsyncScript(
      `const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));`,
    );
  }

  async press(...keys) {
    await this.driver
      .actions()
      .sendKeys(...keys)
      .perform();
  }

  async pressWithControl(key) {
    await this.driver.actions().keyDown(Key.CONTROL).sendKeys(key).keyUp(Key.CONTROL).perform();
  }

  /** Sends a text from the composer. */
  async send(text) {
    await this.fill("Message", text);
    await this.drawn();
    await this.until("Send is enabled", () => this.run(`return all("button.send").some((button) => !button.disabled)`));
    await this.click("button.send");
  }

  async connectToDummy() {
    await this.button("Dummy server");
    await this.waitFor(".own", "Connected");
  }

  async connectTo(url, { first = "", protocols = "", reconnect = true } = {}) {
    await this.fill("Address of a WebSocket", url);
    await this.run(
      `for (const details of all("pw-connect-form").map((form) => form.shadowRoot.querySelector("details"))) details.open = true;`,
    );
    await this.fill("First message", first);
    await this.fill("Subprotocols", protocols);
    await this.run(`all("input[name=reconnect]")[0].checked = arguments[0]`, reconnect);
    await this.button("Connect");
  }

  /** Passes records to the page, and waits until they are taken in and drawn. */
  async take(records) {
    await this.driver.executeAsyncScript(
      `${FIND} const done = arguments[1];
       model().take(JSON.parse(arguments[0]));
       model().whenTaken().then(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));`,
      JSON.stringify(records),
    );
  }

  /** Returns the name and the text of an export of the shown rows, or null if no row is shown. */
  export(format) {
    return this.driver.executeAsyncScript(
      `${FIND} const done = arguments[1];
       model().exportShown(arguments[0]).then(
         (file) => done(file ? { name: file.name, text: file.parts.join("") } : null),
         (error) => done({ name: String(error), text: "" }));`,
      format,
    );
  }

  /** Returns the shown rows as the core describes them. */
  rows() {
    return this.run(`const { core } = model(); return [...core.shown()].map((seq) => core.row(seq))`);
  }

  async waitForRow(what, matches) {
    let row;
    await this.until(what, async () => {
      const rows = await this.rows();
      row = rows.find(matches);
      return row !== undefined || rows.slice(-5);
    });
    return row;
  }

  select(seq) {
    return this.run(`model().selected.set(arguments[0])`, seq);
  }

  /**
   * Runs `script`, and returns the longest time between two frames in each of its phases, in ms. No task of the page
   * takes longer than this time. `script` calls `phase(name)` at the start of each phase. The last phase includes 45
   * frames after the end of `script`.
   */
  longestGaps(script) {
    return this.driver.executeAsyncScript(
      `${FIND}
       const done = arguments[0];
       const gaps = {};
       let current = "";
       const phase = (name) => { current = name; };
       let last = performance.now();
       let left = 45;
       let isDone = false;
       const frame = () => {
         const now = performance.now();
         gaps[current] = Math.max(gaps[current] ?? 0, now - last);
         last = now;
         if (isDone) left -= 1;
         if (left > 0) requestAnimationFrame(frame);
         else done(gaps);
       };
       requestAnimationFrame(() => {
         last = performance.now();
         requestAnimationFrame(frame);
         Promise.resolve((async () => { ${script} })()).then(() => { isDone = true; }, (error) => done(String(error)));
       });`,
    );
  }

  /** Returns the accessibility faults that axe finds in the page, as short texts. */
  async violations() {
    // The policy of the page does not apply to scripts of the driver.
    await this.driver.executeScript(`if (!window.axe) { ${AXE} }`);
    return this.driver.executeAsyncScript(
      `const done = arguments[0];
       window.axe.run(document, { resultTypes: ["violations"] }).then(
         ({ violations }) => done(violations.map(({ id, nodes }) =>
           id + ": " + nodes.slice(0, 4).map(({ target, any, all }) => target.flat().join(" ") + " " + [...any, ...all].map(({ message }) => message).join(", ")).join(" | "))),
         (error) => done([String(error)]));`,
    );
  }

  async screenshot(name) {
    const data = await this.driver.takeScreenshot();
    writeFileSync(`${this.shots}${this.engine}-${name}.png`, Buffer.from(data, "base64"));
  }

  /** Returns the path to the focused element through all shadow roots, as names of elements. */
  focused() {
    return this.run(`
      const path = [];
      for (let element = document.activeElement; element; element = element.shadowRoot?.activeElement ?? null)
        path.push(element.localName + (element.className ? "." + element.className : ""));
      return path.join(" ");`);
  }
}
