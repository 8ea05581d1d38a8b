// The steps of `../panel-check.mjs` about the inspector's panel in the playground.
import assert from "node:assert/strict";
import { Key } from "selenium-webdriver";
import { assertSmooth, hostileTexts, SHOW_AND_EXPORT } from "./hostile-steps.mjs";
import { InspectorPage } from "./page.mjs";
import { message, pair } from "./records.mjs";

/** The playground with its tab Messages selected. */
export class PanelPage extends InspectorPage {
  async started() {
    await this.click("[role=tab]", "Messages");
    // If the panel does not start, the error text contains the loaded files and the text of the tabs.
    await this.until("the panel starts", () =>
      this.run(`
        if (all("pw-inspector-panel")[0]?.context) return true;
        const files = performance.getEntriesByType("resource").map(({ name }) => name.split("/").pop());
        return [...files, ...all("pw-panel").map((panel) => panel.shadowRoot.textContent.trim())].join(" ");`),
    );
  }

  /** Removes all messages. From then on, the model takes only the records of the step, not those of the playground. */
  onlyMessagesOfStep() {
    return this.run(`
      const shown = model();
      const { take } = shown;
      // A tap gives its links random ids of this form. The links of a step have other ids.
      shown.take = (records) => take.call(shown, records.filter(({ link }) => !/^[0-9a-f]{16}-/.test(link)));
      shown.clear();`);
  }

  /** Returns the accessibility faults of the panel. */
  async violations() {
    return (await super.violations()).filter((fault) => fault.includes("pw-inspector-panel"));
  }
}

export const panelSteps = [
  [
    "the panel shows the calls of the playground with their responses",
    async (page) => {
      await page.waitForRow("an answered call", ({ calls }) => calls === "answered");
      // The list follows its end, so the row of this call may not be drawn any more.
      await page.waitFor(".row .method");
      const rows = await page.rows();
      const { seq } = rows.find(({ calls }) => calls === "answered");
      await page.select(seq);
      await page.until("both halves are shown", async () => (await page.count("pw-message-view")) === 2);
      await page.waitFor(".between", "answered after");
      await page.screenshot("panel");
      assert.deepEqual(await page.violations(), []);
    },
  ],

  [
    "each tab of the calls shows its rows, without a fault for screen readers",
    async (page) => {
      await page.onlyMessagesOfStep();
      await page.take([
        { kind: "open", at: 1, link: "link", name: "a link", transport: "port" },
        ...pair(1, "answered", {}, 1),
        message("sent", '{"jsonrpc":"2.0","id":2,"method":"waits"}'),
        message("received", '{"jsonrpc":"2.0","id":3,"result":0}'),
      ]);
      for (const [view, text] of [
        ["pending", "waits"],
        ["unmatched", "result"],
        ["methods", "answered"],
        ["sequence", "waits"],
        ["links", "a link"],
      ]) {
        await page.click(`pw-strip [data-tab="${view}"]`);
        await page.until(`${view} shows ${text}`, () =>
          page.run(
            `const text = (root) => [...root.children].map((each) => (each.shadowRoot ? text(each.shadowRoot) : "") + each.textContent).join(" ");
             return text(all("pw-strip")[0].shadowRoot).includes(arguments[0]);`,
            text,
          ),
        );
        assert.deepEqual(await page.violations(), [], view);
      }
    },
  ],

  [
    "the keyboard selects messages in the list and in the sequence, and reaches the detail and the filter",
    async (page) => {
      await page.onlyMessagesOfStep();
      await page.take([...pair(1, "a", {}, 1), ...pair(2, "b", {}, 2)]);
      const rows = await page.rows();
      const selected = () => page.run(`return model().selected.value`);
      await page.run(`all("pw-message-list")[0].focus()`);
      await page.press(Key.HOME);
      assert.equal(await selected(), rows[0].seq);
      await page.press(Key.ARROW_DOWN);
      assert.equal(await selected(), rows[1].seq);
      await page.press(Key.ENTER);
      await page.until("the detail has the focus", async () => (await page.focused()).includes("pw-detail"));
      await page.click('pw-strip [data-tab="sequence"]');
      await page.run(`all("pw-sequence")[0].shadowRoot.querySelector("[role=listbox]").focus()`);
      await page.press(Key.END);
      assert.equal(await selected(), rows[3].seq);
      await page.press(Key.ARROW_UP);
      assert.equal(await selected(), rows[2].seq);
      await page.press("/");
      await page.until("the filter has the focus", async () => (await page.focused()).includes("pw-list-tools"));
    },
  ],

  [
    "the user can change the widths of the panes, and the browser stores them",
    async (page) => {
      const width = () => page.run(`return Math.round(all("pw-detail")[0].getBoundingClientRect().width)`);
      const before = await width();
      await page.run(`all("pw-splitter [role=separator]", "Width of the detail")[0].focus()`);
      await page.press(Key.ARROW_RIGHT, Key.ARROW_RIGHT);
      await page.until("the detail is narrower", async () => (await width()) === before - 32 || (await width()));
      await page.reload();
      await page.until("the width is the same", async () => (await width()) === before - 32 || (await width()));
    },
  ],

  [
    "a narrow panel shows one pane at a time",
    async (page) => {
      await page.open(700);
      const shown = () =>
        page.run(`return ["pw-message-list", "pw-detail", "pw-strip"].filter((name) => all(name).length > 0)`);
      for (const [name, element] of [
        ["detail", "pw-detail"],
        ["calls", "pw-strip"],
        ["list", "pw-message-list"],
      ]) {
        await page.click(`pw-inspector-panel [data-tab="${name}"]`);
        await page.until(`only ${element} is shown`, async () => {
          const elements = await shown();
          return (elements.length === 1 && elements[0] === element) || elements;
        });
      }
      await page.screenshot("panel-narrow");
    },
  ],

  ...hostileTexts.map(([name, what, script]) => [
    `${name} is shown in each form and exported by the panel without a freeze`,
    async (page) => {
      await page.onlyMessagesOfStep();
      await page.run(`window.hostile = ${script}`);
      await assertSmooth(page, what, SHOW_AND_EXPORT);
      assert.equal(await page.count("img[src=x], script:not([src])"), 0);
    },
  ]),
];
