// The steps of `../check.mjs` about the list: filters, scrolling, pause, export, import, keys, narrow windows.
import assert from "node:assert/strict";
import { Key } from "selenium-webdriver";
import { message, pair, records } from "./records.mjs";

const tabCounts = (page) => page.run(`return model().counts()`);

const shown = async (page) => (await page.rows()).map(({ method, kind }) => `${kind} ${method ?? ""}`.trim());

export const listSteps = [
  [
    "the filters for method, id and text select rows, and the counts of the tabs follow",
    async (page) => {
      await page.take([
        ...pair(1, "userList", { name: "Ada" }, [1, 2]),
        ...pair("1", "USERDelete", { name: "Bob" }, undefined, { code: -32000, message: "An ERROR" }),
        ...pair(11, "other", { a: 1 }, "user"),
        message("received", '{"jsonrpc": "2.0", "method": "spaced", "params": {"a": 1}}'),
      ]);
      await page.fill("Method", "user");
      assert.equal((await shown(page)).length, 4);
      await page.fill("Method", "");
      await page.fill("ID", "1");
      assert.equal((await shown(page)).length, 4);
      await page.fill("ID", "");
      await page.fill("Text", '"a":1');
      assert.deepEqual((await shown(page)).sort(), ["notification spaced", "request other"]);
      await page.fill("Text", '"a": 1');
      assert.deepEqual(await shown(page), []);
      await page.waitFor("p.empty", "No row matches");
      await page.fill("Text", "error");
      assert.deepEqual(await tabCounts(page), { all: 1, sent: 0, received: 1, notifications: 0, errors: 1 });
      await page.fill("Text", "");
      assert.deepEqual(await tabCounts(page), { all: 7, sent: 3, received: 4, notifications: 1, errors: 1 });
      await page.click('[data-tab="errors"]');
      assert.deepEqual(await shown(page), ["error USERDelete"]);
      await page.screenshot("filter");
    },
  ],

  [
    "the filter for text shows the rows that contain the text in any case, with rare and frequent characters",
    async (page) => {
      const words = [
        "Portway-Needle",
        "KELVIN",
        "\u212aelvin",
        "straße",
        "\u017fun",
        "sun",
        "Öl",
        "öl",
        "İ",
        "i",
        "100%",
        "a+b",
      ];
      // Only one word has the letter "k", so this letter is rare.
      const texts = words.concat(words).map((word, n) => `{"jsonrpc":"2.0","method":"note","params":["${word}",${n}]}`);
      await page.take(texts.map((text) => message("received", text)));
      for (const part of [...words, ...words.map((word) => word.toUpperCase()), "pORTWAY-", "needle", "zz"]) {
        await page.fill("Text", part);
        const expression = new RegExp(part.replace("+", "\\+"), "iu");
        const expected = texts.filter((text) => expression.test(text)).length;
        assert.equal((await tabCounts(page)).all, expected, part);
      }
    },
  ],

  [
    "a preset changes only its own conditions of the filter, and Reset removes all conditions",
    async (page) => {
      await page.take([...pair(1, "user", { a: "error" }, 1), ...pair(2, "user", {}, 2), ...pair(3, "x", {}, 3)]);
      const preset = (name) =>
        page.run(
          `const select = all("select", "Presets")[0]; select.value = arguments[0];
           select.dispatchEvent(new Event("change", { bubbles: true }));`,
          name,
        );
      await preset("Method: user");
      await preset("ID: 1");
      assert.deepEqual(await shown(page), ["request user", "result user"]);
      await preset("Text: error");
      assert.deepEqual(await shown(page), ["request user"]);
      await preset("Reset");
      assert.equal((await shown(page)).length, 6);
    },
  ],

  [
    "a regular expression is tested in a worker, which is ended if the test takes too long",
    async (page) => {
      await page.take([...pair(1, "abc", { n: 17 }, 1), ...pair(2, "x", { s: "a".repeat(60) }, 2)]);
      await page.button("Regular expression");
      await page.fill("Regular expression", '"n":\\d+');
      await page.until("one row matches", async () => JSON.stringify(await shown(page)) === '["request abc"]');
      await page.take(pair(3, "later", { n: 4 }, 3));
      await page.until("a new row matches", async () => (await shown(page)).length === 2);
      await page.fill("Regular expression", "(");
      await page.waitFor(".fault");
      await page.fill("Regular expression", "(a+)+b");
      // WebKit limits the steps of an expression by itself, and then finds no match.
      const isLimited = page.engine === "webkit";
      await page.until(
        "the expression is stopped",
        async () => isLimited || (await page.count(".fault", "the regular expression must test")) === 1,
      );
      await page.fill("Regular expression", "abc");
      await page.until("the next expression matches", async () => (await shown(page)).includes("request abc"));
    },
  ],

  [
    "the list follows its end, until the user scrolls away: then the rows do not move",
    async (page) => {
      await page.take(records(300));
      const scroller = `const rows = all(".rows")[0];`;
      const isAtEnd = () => page.run(`${scroller} return rows.scrollTop + rows.clientHeight >= rows.scrollHeight - 2`);
      assert.ok(await isAtEnd());
      await page.take(records(300, 300));
      assert.ok(await isAtEnd());
      await page.run(`${scroller} rows.scrollTop = 5000`);
      const visible = () =>
        page.run(`${scroller}
          const { top } = rows.getBoundingClientRect();
          return all(".row[data-seq]").map((row) => [row.dataset.seq, Math.round(row.getBoundingClientRect().top - top)])
            .filter(([, y]) => y >= 0 && y < 300)`);
      await page.until("the scrolled rows are drawn", async () => (await visible()).length > 0);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const before = await visible();
      // The history has a limit of 2000 rows, so these records also drop rows above the viewport.
      for (let part = 0; part < 3; part += 1) await page.take(records(450, 1000 + part * 450));
      assert.deepEqual(await visible(), before);
      await page.button("Follow");
      await page.until("the list is at its end", isAtEnd);
    },
  ],

  [
    "new messages are hidden during a pause",
    async (page) => {
      await page.take(records(10));
      await page.button("Pause");
      await page.take(records(10, 10));
      assert.equal((await page.rows()).length, 10);
      await page.waitFor("footer", "10 waiting");
      await page.button("Resume");
      assert.equal((await page.rows()).length, 20);
    },
  ],

  [
    "secrets are masked in the list, in the detail and in exports until the user shows them",
    async (page) => {
      await page.take([
        ...pair(
          1,
          "login",
          { user: "Ada", password: "hunter2", list: ["token:hunter2"], nested: { Authorization: "hunter2" } },
          true,
        ),
      ]);
      const all = () => page.run(`return all(".row, [role=treeitem]").map((e) => e.textContent).join(" ")`);
      await page.select(0);
      await page.waitFor("[role=treeitem]", "login");
      assert.doesNotMatch(await all(), /hunter2/);
      assert.doesNotMatch((await page.export("jsonl")).text, /hunter2/);
      await page.button("Secrets");
      await page.until("the secrets are shown", async () => /hunter2/.test(await all()));
      assert.match((await page.export("jsonl")).text, /hunter2/);
    },
  ],

  [
    "an export is imported without a loss: a second export has the same text",
    async (page) => {
      const texts = [
        '{"jsonrpc":"2.0","id":12345678901234567890,"method":"big","params":{"__proto__":{"a":1.0},"a":1,"a":2}}',
        '{"jsonrpc":"2.0","id":12345678901234567890,"result":"\\ud800 lone"}',
        '{ "jsonrpc" : "2.0",\n "method":"spaced" }',
        "not JSON \u0000 <img src=x>",
        '[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]',
      ];
      await page.take([
        { kind: "open", at: 1_796_000_000_000_000, link: "link", name: "a link", transport: "port" },
        ...texts.map((text) => message("sent", text)),
        { kind: "gap", at: 1_796_000_000_900_000, link: "link", direction: "received", messages: 3, bytes: 100 },
        { kind: "close", at: 1_796_000_001_000_000, link: "link", code: 1006 },
      ]);
      await page.button("Secrets");
      for (const format of ["json", "jsonl"]) {
        const first = await page.export(format);
        assert.match(first.name, new RegExp(`^messages-\\d{4}-[-\\dTZ]+\\.${format}$`));
        await page.button("Clear");
        await page.driver.executeAsyncScript(
          `const done = arguments[1]; const { model } = document.querySelector("pw-inspector").context;
           model.importText("a.json", arguments[0]); model.whenTaken().then(() => requestAnimationFrame(done));`,
          first.text,
        );
        const second = await page.export(format);
        assert.equal(second.text, first.text);
      }
      // If no row is shown, the export returns null.
      await page.fill("Method", "../../Big");
      assert.equal(await page.export("json"), null);
    },
  ],

  [
    "the arrow keys move the selection, / moves the focus to the filter, and F6 moves the focus to the next pane",
    async (page) => {
      await page.take(records(50));
      await page.click(".rows");
      await page.press(Key.HOME);
      await page.until(
        "the first row is selected",
        async () => (await page.run(`return model().selected.value`)) === 0,
      );
      await page.press(Key.ARROW_DOWN, Key.ARROW_DOWN);
      assert.equal(await page.run(`return model().selected.value`), 2);
      await page.press(Key.END);
      assert.equal(await page.run(`return model().selected.value`), 49);
      await page.until(
        "the last row is drawn",
        async () => (await page.count('.row[data-seq="49"][aria-selected="true"]')) === 1,
      );
      await page.press("/");
      await page.until("the filter has the focus", async () => /input\.text/.test(await page.focused()));
      await page.press(Key.F6);
      await page.until("the detail has the focus", async () => /pw-detail/.test(await page.focused()));
      await page.press(Key.F6);
      await page.until("the strip has the focus", async () => /pw-strip/.test(await page.focused()));
      await page.press(Key.ARROW_RIGHT, Key.ARROW_RIGHT);
      await page.waitFor('pw-strip table[aria-label="Methods"]');
    },
  ],

  [
    "all panes are accessible, in light and dark colours and in a narrow window",
    async (page) => {
      await page.connectToDummy();
      await page.send('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"user":"Ada","list":[1,2,{"deep":true}]}}');
      const row = await page.waitForRow("the result", ({ kind }) => kind === "result");
      await page.send('{"jsonrpc":"2.0","id":2,"method":"ignore"}');
      await page.send('[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"nope"}]');
      await page.send('{"id":5,"method":"nope"}');
      await page.select(row.seq);
      for (const [theme, name] of [
        ["light", "Switch to dark colours"],
        ["dark", "Switch to light colours"],
      ]) {
        for (const mode of ["formatted", "exact", "hex", "tree"]) {
          await page.click(`pw-detail [data-tab="${mode}"]`);
          await page.waitFor(mode === "tree" ? "pw-json-tree" : mode === "hex" ? "pw-hex-view" : "pw-code-view");
          if (theme === "light") assert.deepEqual(await page.violations(), [], mode);
        }
        for (const view of ["unmatched", "methods", "sequence", "pending"]) {
          await page.click(`pw-strip [data-tab="${view}"]`);
          assert.deepEqual(await page.violations(), [], `${theme}, ${view}`);
          await page.screenshot(`${theme}-${view}`);
        }
        await page.button(name);
      }
      await page.driver.manage().window().setRect({ width: 520, height: 850 });
      await page.until("the narrow layout", async () => (await page.count('[role="tablist"]', "Panes")) === 1);
      for (const pane of ["links", "list", "detail", "strip"]) {
        await page.click(`.switch [data-tab="${pane}"]`);
        assert.deepEqual(await page.violations(), [], pane);
        await page.screenshot(`narrow-${pane}`);
      }
    },
  ],

  [
    "the keyboard selects messages in the sequence diagram, and the user can choose which of many links are drawn",
    async (page) => {
      const names = Array.from({ length: 10 }, (_, n) => `link ${n}`);
      await page.take(names.map((link, n) => message("sent", `{"jsonrpc":"2.0","method":"m${n}"}`, link)));
      await page.click('pw-strip [data-tab="sequence"]');
      const drawn = () =>
        page.run(
          `const heads = [...all("pw-sequence")[0].shadowRoot.querySelectorAll("text.head")];
           return heads.map((head) => head.textContent).slice(1);`,
        );
      // The eight links with the newest messages are drawn first.
      await page.until(
        "eight links are drawn",
        async () => (await drawn()).join() === names.slice(2).join() || drawn(),
      );
      await page.waitFor(".note", "8 of 10 links");
      await page.run(`all("pw-sequence")[0].shadowRoot.querySelector("[role=listbox]").focus()`);
      await page.press(Key.HOME);
      assert.equal(await page.run(`return model().selected.value`), 2);
      await page.press(Key.ARROW_DOWN, Key.ARROW_DOWN, Key.ARROW_UP);
      assert.equal(await page.run(`return model().selected.value`), 3);
      const active = `all("pw-sequence")[0].shadowRoot.querySelector("[role=listbox]").getAttribute("aria-activedescendant")`;
      await page.until("the selected message is the active one", () => page.run(`return ${active} === "message-3"`));
      assert.deepEqual(await page.violations(), []);
      await page.press(Key.ENTER);
      await page.until("the detail has the focus", async () => (await page.focused()).includes("pw-detail"));
      await page.run(
        `const select = all("select", "Drawn links")[0]; select.value = "1";
         select.dispatchEvent(new Event("change", { bubbles: true }));`,
      );
      await page.until("the other links are drawn", async () => (await drawn()).join() === "link 0,link 1" || drawn());
      await page.waitFor(".note", "2 of 10 links");
    },
  ],

  [
    "a table with too many rows counts the rows that it does not show",
    async (page) => {
      const requests = Array.from({ length: 205 }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"m${id}"}`);
      const responses = Array.from({ length: 203 }, (_, id) => `{"jsonrpc":"2.0","id":"x${id}","result":0}`);
      await page.take([message("sent", `[${requests.join()}]`), ...responses.map((text) => message("received", text))]);
      for (const [view, text] of [
        ["pending", "5 more"],
        ["unmatched", "3 more"],
        ["methods", "5 more"],
      ]) {
        await page.click(`pw-strip [data-tab="${view}"]`);
        await page.waitFor("pw-strip tbody td.muted", text);
      }
      await page.select(0);
      await page.waitFor("pw-detail tbody td.muted", "5 more");
    },
  ],
];
