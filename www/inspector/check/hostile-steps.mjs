// The steps of `../check.mjs` about messages that must not harm the page: markup, deep or long messages, invisible
// characters, floods.
import assert from "node:assert/strict";
import { message, records } from "./records.mjs";

/**
 * The longest permitted time between two frames, in ms. On a slow or busy machine, the limit is four times the duration
 * of `reference`, if that is longer.
 */
const MAX_GAP_MS = 100;
/** The maximum number of runs. One run within the limit is sufficient, because other programs may delay a run. */
const RUNS = 4;

const MARKUP = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;

/**
 * Runs a script with phases in the page. In each phase, the longest time between two frames must be within the limit.
 * So no task of the page takes longer than the limit. Prints the longest time of each phase.
 */
export async function assertSmooth(page, what, script) {
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) {
    const before = await reference(page);
    const gaps = await page.longestGaps(script);
    assert.equal(typeof gaps, "object", String(gaps));
    const limit = Math.max(MAX_GAP_MS, 4 * Math.max(before, await reference(page)));
    const phases = Object.entries(gaps).map(([name, gap]) => `${name} ${Math.round(gap)}`);
    runs.push(`${phases.join(", ")} ms of ${Math.round(limit)} ms`);
    if (Math.max(...Object.values(gaps)) <= limit) {
      console.log(`    ${what}: ${runs.at(-1)}`);
      return;
    }
  }
  assert.fail(`${what}: the page must not block for longer than the limit, got ${runs.join("; ")}`);
}

/** Returns the duration of `JSON.parse` of 5 MB, in ms: about a quarter of `MAX_GAP_MS` on an idle machine. */
function reference(page) {
  return page.run(`
    const text = JSON.stringify(Array.from({ length: 90_000 }, (_, n) => ({ name: "a ship", at: [n, 2.25], open: true })));
    const start = performance.now();
    JSON.parse(text);
    return performance.now() - start;`);
}

/**
 * Passes `window.hostile` to the page as a new message, shows it in each form, and exports it. Each form and each
 * export is a phase. The text is made before the measurement.
 */
export const SHOW_AND_EXPORT = `
  const frame = () => new Promise(requestAnimationFrame);
  phase("list");
  model().clear();
  model().take([{ kind: "message", at: Date.now() * 1000, link: "hostile", direction: "sent", form: "text", text: window.hostile, size: window.hostile.length }]);
  await model().whenTaken();
  await frame();
  phase("detail");
  model().selected.set(model().core.last());
  for (let n = 0; n < 3; n += 1) await frame();
  for (const mode of ["formatted", "exact", "hex", "tree"]) {
    phase(mode);
    all('pw-detail [data-tab="' + mode + '"]')[0].click();
    for (let n = 0; n < 5; n += 1) await frame();
  }
  for (const format of ["json", "jsonl"]) {
    phase("export " + format);
    window.exported = await model().exportShown(format);
    await frame();
  }`;

/** Checks that the page shows and exports a text without a freeze, and that the export contains the whole text. */
async function assertHarmless(page, what, script) {
  await page.run(`window.hostile = ${script}`);
  await assertSmooth(page, what, SHOW_AND_EXPORT);
  const isWhole = await page.run(
    `return JSON.parse(window.exported.parts.join("")).text === window.hostile.replace('"s3cret"', '"***"')`,
  );
  assert.ok(isWhole, "the export must contain the whole text, except for its secret");
  // Neither the message nor its masked form may become markup.
  assert.equal(await page.count("img[src=x], script:not([src])"), 0);
  assert.notEqual(await page.run("return document.title"), "broken");
  const drawn = await page.run(`return all(".row, [role=treeitem]").map((element) => element.textContent).join("")`);
  assert.doesNotMatch(drawn, INVISIBLE, "invisible characters must be shown as escapes");
}

/** Controls of the text direction, and a character without a width. */
const INVISIBLE = /[\u202e\u2066\u200b]/;

/** Hostile messages: a name for people, a short name, and a script that returns the text. */
export const hostileTexts = [
  [
    "a message of 5 MB on one line",
    "5 MB",
    `'{"jsonrpc":"2.0","id":1,"method":"big","params":[' +
       Array(110_000).fill('{"name":"a ship","at":[1.5,2.25],"open":true}').join() + "]}"`,
  ],
  [
    "a message of 5 MB with one string and a secret",
    "5 MB string",
    `'{"jsonrpc":"2.0","id":1,"method":"big","params":{"password":"s3cret","text":"' + "x y ".repeat(1_250_000) + '"}}'`,
  ],
  [
    "a message with 100 000 levels",
    "100 000 levels",
    `'{"jsonrpc":"2.0","id":1,"method":"deep","params":' + "[".repeat(100_000) + "]".repeat(100_000) + "}"`,
  ],
  [
    "a message of 400 000 invisible characters and lone surrogates",
    "controls and surrogates",
    String.raw`'{"jsonrpc":"2.0","id":1,"method":"\u202e\ud800","params":["' + "\u202e\u2066\u200b\ud800x".repeat(100_000) + '"]}'`,
  ],
  [
    "a megabyte of markup",
    "markup",
    `JSON.stringify({ jsonrpc: "2.0", id: 1, method: ${JSON.stringify(MARKUP)}, params: Array(10_000).fill({ [${JSON.stringify(MARKUP)}]: ${JSON.stringify(MARKUP)} }) })`,
  ],
];

export const hostileSteps = [
  [
    "markup in every part of a record is shown as text",
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

  ...hostileTexts.map(([name, what, script]) => [
    `${name} is shown in each form and exported without a freeze`,
    async (page) => {
      await assertHarmless(page, what, script);
      await page.screenshot(`hostile-${what.replaceAll(" ", "-")}`);
    },
  ]),

  [
    "after a flood, the list is bounded and begins with the pending call, and the footer counts the dropped rows",
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
    "the user can scroll to each part of a list of a million rows, although no browser shows an element of that height",
    async (page) => {
      await page.run(`model().configure({ limit: 1_000_000 })`);
      await page.driver.manage().setTimeouts({ script: 600_000 });
      await page.driver.executeAsyncScript(
        `const done = arguments[0];
         const { model } = document.querySelector("pw-inspector").context;
         const add = async () => {
           for (let part = 0; part < 50; part += 1) {
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
      const { shown, height } = await page.run(
        `return { shown: model().totals().shown, height: all(".rows")[0].scrollHeight }`,
      );
      assert.equal(shown, 1_000_000);
      assert.ok(height > 10_000_000 && height < 17_800_000, `the list must have a height that is drawn, got ${height}`);
      for (const part of [0, 0.25, 0.5, 0.75, 1]) {
        await page.run(`const rows = all(".rows")[0]; rows.scrollTop = arguments[0] * rows.scrollHeight;`, part);
        const expected = part * 999_999;
        let drawn = [];
        await page.until(`the rows at ${part} of the list are in its visible part`, async () => {
          drawn = await page.run(`
            const { top, bottom } = all(".rows")[0].getBoundingClientRect();
            return all(".row[data-seq]").filter((row) => row.getBoundingClientRect().bottom > top && row.getBoundingClientRect().top < bottom)
              .map((row) => Number(row.dataset.seq));`);
          return drawn.some((seq) => Math.abs(seq - expected) <= 5_000) || drawn;
        });
        if (part === 0) assert.ok(drawn.includes(0), `the first row must be drawn, got ${drawn}`);
        if (part === 1) assert.ok(drawn.includes(999_999), `the last row must be drawn, got ${drawn}`);
      }
      for (const seq of [777_777, 777_800, 123_456]) {
        await page.select(seq);
        await page.until(
          `row ${seq} is drawn`,
          async () => (await page.count(`.row[data-seq="${seq}"][aria-selected="true"]`)) === 1,
        );
      }
    },
  ],
];
