// Logs the messages that cross the boundaries of a playground, and compares the logs with the rows of its panel.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { assertShown } from "../../tests/inspector/story/shown.mjs";

const story = (name) => readFileSync(new URL(`../../tests/inspector/story/${name}.js`, import.meta.url), "utf8");
/** Returns the code of an expression whose value has these exports of a module. */
const exportsOf = (name, ...names) =>
  `(() => { ${story(name).replace(/^export /gm, "")}; return { ${names.join(", ")} }; })()`;

/**
 * Logs the messages in each document of a page, from the start of the document. `workerLog` has the messages between
 * the page and its worker. `windowLog` has only the messages that the document has received from another window: a
 * script cannot replace `postMessage` of a window with another origin, so sent messages cannot be logged.
 */
export async function logMessages(page) {
  await page.addInitScript(`{
    const { log, logArrivals, logPosts } = ${exportsOf("describe", "log", "logArrivals", "logPosts")};
    logArrivals([Worker]);
    logPosts(Worker.prototype, "postMessage");
    globalThis.workerLog = log;
  }
  {
    const { log, logArrivals } = ${exportsOf("describe", "log", "logArrivals")};
    logArrivals([Window]);
    globalThis.windowLog = log;
  }`);
}

/** Makes random calls and console entries in the preview until at least `count` messages have crossed. */
export function exchange(frame, seed, count) {
  return frame.evaluate(`(async () => {
    const { randomOf, randomJson } = ${exportsOf("random", "randomOf", "randomJson")};
    const random = randomOf(${seed});
    const levels = ["log", "info", "warn", "debug"];
    let crossed = 0;
    while (crossed < ${count}) {
      const calls = [];
      for (let n = 0; n < 100; n += 1) {
        if (random(2) === 0) {
          console[levels[random(4)]](randomJson(random), randomJson(random));
          crossed += 1;
        } else {
          calls.push(fetch(["/ships.json", "/main.css", "/missing?" + random(1000)][random(3)]));
          crossed += 2;
        }
      }
      await Promise.all(calls);
    }
  })()`);
}

/** Checks that the panel lists the messages of both boundaries: each message once, in the order of the logs. */
export async function assertListed(playground, frame, count) {
  const { page, panel } = playground;
  const logs = async () => ({
    worker: await page.evaluate("workerLog"),
    near: await page.evaluate("windowLog"),
    far: await frame.evaluate("windowLog"),
  });
  const rowsOf = (link) => panel.evaluate(rowsOfLink, link);
  const { worker, near, far } = await logs();
  const expected = near.received.length + far.received.length;
  await playground.until(`the panel lists ${expected} messages of the preview`, async () => {
    const { length } = await rowsOf("preview");
    return length >= expected || length;
  });
  assertShown(await rowsOf("preview"), both(far.received, near.received), count);
  assertShown(await rowsOf("build worker"), both(worker.sent, worker.received), 2);
  assert.deepEqual(await logs(), { worker, near, far }, "no message may cross during the comparison");
}

/** Returns the logs of both ends. Each direction was logged at one end only, so both ends get the same log. */
function both(sent, received) {
  return { near: { sent, received }, far: { sent: received, received: sent } };
}

/** Reads the rows of a link in the page, with their texts, in the order of the messages. */
function rowsOfLink({ context: { model } }, name) {
  const links = model.core.links();
  const rows = [...model.core.shown()].map((seq) => ({ ...model.core.row(seq), text: model.textOf(seq) ?? null }));
  return rows.filter(({ link, kind }) => links[link].name === name && kind !== "open");
}
