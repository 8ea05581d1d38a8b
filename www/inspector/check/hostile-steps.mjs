// The steps about messages that must not harm the page: markup, depth, length, invisible characters, floods.
import assert from "node:assert/strict";
import { message, records } from "./records.mjs";

/**
 * The longest time without a frame, in ms. The machine may be busy, so the best of some runs counts. The limit grows
 * with the time of a task that takes a quarter of it on an idle machine: `JSON.parse` of 5 MB, with its strings.
 */
const MAX_GAP_MS = 100;
const RUNS = 4;

const MARKUP = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;

async function assertSmooth(page, what, script) {
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) {
    const before = await reference(page);
    const gap = await page.longestGap(script);
    assert.equal(typeof gap, "number", String(gap));
    const limit = Math.max(MAX_GAP_MS, 4 * Math.max(before, await reference(page)));
    runs.push(`${Math.round(gap)} ms of ${Math.round(limit)} ms`);
    if (gap <= limit) {
      console.log(`    ${what}: ${runs.at(-1)}`);
      return;
    }
  }
  assert.fail(`${what}: the page must not block for longer than the limit, got ${runs.join(", ")}`);
}

/** Returns the time of the reference task, in ms. */
function reference(page) {
  return page.run(`
    const text = JSON.stringify(Array.from({ length: 90_000 }, (_, n) => ({ name: "a ship", at: [n, 2.25], open: true })));
    const start = performance.now();
    JSON.parse(text);
    return performance.now() - start;`);
}

export const hostileSteps = [
  [
    "markup in every part of a record is text",
    async (page) => {
      const texts = [
        JSON.stringify({
          jsonrpc: "2.0",
          id: MARKUP,
          method: MARKUP,
          params: { [MARKUP]: MARKUP, url: "javascript:alert(1)" },
        }),
        JSON.stringify({ jsonrpc: "2.0", id: MARKUP, error: { code: 1, message: MARKUP, data: MARKUP } }),
        `</script>${MARKUP}`,
      ];
      await page.take([
        { kind: "open", at: 1, link: MARKUP, name: MARKUP, transport: "port" },
        ...texts.map((text, index) => message(index === 1 ? "received" : "sent", text, MARKUP)),
        { kind: "close", at: 2, link: MARKUP, reason: MARKUP },
      ]);
      for (let seq = 0; seq < 5; seq += 1) {
        await page.select(seq);
        for (const mode of ["formatted", "exact", "tree"]) await page.click(`pw-detail [data-tab="${mode}"]`);
      }
      for (const view of ["unmatched", "methods", "sequence", "pending"])
        await page.click(`pw-strip [data-tab="${view}"]`);
      await page.run(`model().importText(arguments[0], arguments[0])`, MARKUP);
      await new Promise((resolve) => setTimeout(resolve, 400));
      assert.equal(await page.count("img[src=x], script:not([src]), a[href^=javascript]"), 0);
      assert.notEqual(await page.run("return document.title"), "broken");
      await page.screenshot("markup");
    },
  ],

  [
    "invisible characters and lone surrogates are shown as escapes",
    async (page) => {
      const text = '{"jsonrpc":"2.0","id":1,"method":"a\u202eb\u0085c","params":["\u2066x\u2069", "\u200b"]}';
      await page.take([message("sent", text)]);
      await page.waitFor(".method", "a\\u202eb");
      await page.select(0);
      await page.waitFor("[role=treeitem]", "\\u2066x\\u2069");
      const drawn = await page.run(
        `return all(".row, [role=treeitem]").map((element) => element.textContent).join("")`,
      );
      assert.doesNotMatch(drawn, /[\u202e\u2066\u2069\u200b]/);
    },
  ],

  [
    "a message of 5 MB on one line is shown in each form without a freeze",
    async (page) => {
      const script = `
        const item = JSON.stringify({ name: "a ship", at: [1.5, 2.25], open: true });
        const text = '{"jsonrpc":"2.0","id":' + model().core.totals().taken + ',"method":"big","params":[' + Array(5_000_000 / (item.length + 1) | 0).fill(item).join() + "]}";
        const seq = model().core.totals().taken;
        const frame = () => new Promise(requestAnimationFrame);
        // The text is made before the measurement.
        window.bigText = text;`;
      await page.run(`${script} return text.length`);
      await assertSmooth(
        page,
        "5 MB",
        `const frame = () => new Promise(requestAnimationFrame);
         const { taken } = model().core.totals();
         model().take([{ kind: "message", at: Date.now() * 1000, link: "big", direction: "sent", form: "text", text: window.bigText, size: window.bigText.length }]);
         await model().whenTaken();
         await frame();
         model().selected.set(model().core.last());
         await frame();
         for (const mode of ["exact", "hex", "tree"]) {
           all('pw-detail [data-tab="' + mode + '"]')[0].click();
           for (let n = 0; n < 5; n += 1) await frame();
         }`,
      );
      await page.click('pw-detail [data-tab="formatted"]');
      await page.waitFor("pw-code-view");
      await page.screenshot("5mb");
    },
  ],

  [
    "a message with 100 000 levels is shown in each form without a freeze",
    async (page) => {
      await page.run(
        `window.deepText = '{"jsonrpc":"2.0","id":1,"method":"deep","params":' + "[".repeat(100_000) + "]".repeat(100_000) + "}"`,
      );
      await assertSmooth(
        page,
        "100 000 levels",
        `const frame = () => new Promise(requestAnimationFrame);
         model().take([{ kind: "message", at: Date.now() * 1000, link: "deep", direction: "sent", form: "text", text: window.deepText, size: window.deepText.length }]);
         await model().whenTaken();
         await frame();
         model().selected.set(model().core.last());
         await frame();
         for (const mode of ["formatted", "exact", "hex", "tree"]) {
           all('pw-detail [data-tab="' + mode + '"]')[0].click();
           for (let n = 0; n < 5; n += 1) await frame();
         }`,
      );
    },
  ],

  [
    "a flood leaves a bounded list, pending calls first, and a count of what was dropped",
    async (page) => {
      await page.take([message("sent", '{"jsonrpc":"2.0","id":"first","method":"open"}')]);
      for (let part = 0; part < 5; part += 1) await page.take(records(2000, part * 2000));
      const rows = await page.rows();
      assert.equal(rows.length, 2000);
      assert.equal(rows[0].id, '"first"');
      await page.waitFor("footer", "rows dropped");
      const drawn = await page.count(".row");
      assert.ok(drawn > 0 && drawn < 60, `the list must draw fewer than 60 rows, got ${drawn}`);
    },
  ],

  [
    "more rows than a browser can show at once are reached, from the first to the last",
    async (page) => {
      await page.run(`model().configure({ limit: 1_000_000 })`);
      await page.driver.manage().setTimeouts({ script: 300_000 });
      await page.driver.executeAsyncScript(
        `const done = arguments[0];
         const { model } = document.querySelector("pw-inspector").context;
         const add = async () => {
           for (let part = 0; part < 15; part += 1) {
             const records = [];
             for (let n = 0; n < 20_000; n += 1) {
               const number = part * 20_000 + n;
               records.push({ kind: "message", at: 1_796_000_000_000_000 + number, link: "many", direction: "received", form: "text", text: '{"jsonrpc":"2.0","method":"m","params":[' + number + "]}" });
             }
             model.take(records);
             await model.whenTaken();
           }
         };
         add().then(() => done());`,
      );
      const at = async (top) => {
        await page.run(`const rows = all(".rows")[0]; rows.scrollTop = arguments[0] * rows.scrollHeight;`, top);
        await new Promise((resolve) => setTimeout(resolve, 500));
        return page.run(`return all(".row[data-seq]").map((row) => Number(row.dataset.seq))`);
      };
      assert.ok((await at(1)).includes(299_999));
      assert.ok((await at(0)).includes(0));
      const middle = await at(0.5);
      assert.ok(
        middle.some((seq) => seq > 100_000 && seq < 200_000),
        `rows of the middle, got ${middle}`,
      );
      await page.select(222_222);
      await page.until("the row is drawn", async () => (await page.count('.row[data-seq="222222"]')) === 1);
    },
  ],
];
