// Runs in the page of the inspector, beside the scripts of the page. This script measures one part of the workload. It
// posts the results, because no debugging client is attached to the browser that could read them.

// This import is the first, because it must record the wasm instance of the inspector.
import { wasmBytes } from "./memory.js";
import { Frames, bareFrames, nextFrame, nextTask, painted, slowness, summaryOf } from "./frames.js";
import { COMMON, RARE, largeText, recordsOf } from "./messages.js";

const COUNT = 100_000;
/** The number of records that are cloned in one task. */
const PART = 2_000;
const STEADY_FRAMES = 150;
/** The pixels that a frame of steady scrolling moves. */
const STEADY_STEP = 60;
const JUMP_FRAMES = 150;
const SEARCHES = 3;
const LARGE_MESSAGES = 3;
const WAIT_MS = 60_000;
const PER_SECOND = 1_000;
const FORMS = ["tree", "formatted", "exact", "hex"];

const { searchParams } = new URL(location.href);
const post = (body) => fetch("/results", { method: "POST", body: JSON.stringify(body) });

/** Calls `condition` before each frame is drawn, until it returns a value. `what` describes the condition. */
async function until(what, condition) {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    await nextFrame();
    const value = condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`timeout after ${WAIT_MS / 1000} s: ${what}`);
  }
}

/** Returns the element at the end of a path through shadow roots. */
function find(...selectors) {
  let found = document;
  for (const selector of selectors) found = (found?.shadowRoot ?? found)?.querySelector(selector);
  return found;
}

const list = (...selectors) => find("pw-inspector", "pw-message-list", ...selectors);
const detail = (...selectors) => find("pw-inspector", "pw-detail", ...selectors);

async function usedBytes() {
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc();
    await nextTask();
  }
  return { heap: performance.memory.usedJSHeapSize, wasm: wasmBytes() };
}

/** Runs a measurement, and measures the load before and after it. */
async function withLoad(run) {
  const before = [await bareFrames(), await slowness()];
  const result = await run();
  const after = [await bareFrames(), await slowness()];
  return {
    ...result,
    slowness: (before[1] + after[1]) / 2,
    bareP95: Math.max(before[0].p95, after[0].p95),
    bareLongest: Math.max(before[0].longest, after[0].longest),
  };
}

// ---------------------------------------------------------------- the list

async function makeRecords() {
  const records = [];
  const made = recordsOf(COUNT);
  for (let at = 0; at < made.length; at += PART) {
    // Records of a tap are structured clones, so their strings are not shared.
    records.push(...structuredClone(made.slice(at, at + PART)));
    await nextTask();
  }
  return records;
}

async function takeIn(model) {
  const before = await usedBytes();
  let records = await makeRecords();
  const countOf = (part) => records.filter(({ text }) => text.toLowerCase().includes(part.toLowerCase())).length;
  const matches = { [RARE]: countOf(RARE), [COMMON]: countOf(COMMON) };
  const frames = new Frames();
  await nextFrame();
  const start = performance.now();
  model.take(records);
  records = undefined;
  await model.whenTaken();
  const seconds = (performance.now() - start) / 1000;
  const { p95, longest } = frames.stop();
  const totals = model.totals();
  if (totals.rows !== COUNT || totals.droppedTexts > 0)
    throw new Error(`the history must have ${COUNT} rows with their texts, got ${JSON.stringify(totals)}`);
  await painted();
  const after = await usedBytes();
  const bytes = after.heap - before.heap + after.wasm - before.wasm;
  return {
    takenPerSecond: COUNT / seconds,
    takeP95: p95,
    takeLongest: longest,
    matches,
    texts: totals.textBytes,
    heap: after.heap - before.heap,
    wasm: after.wasm - before.wasm,
    memory: bytes / totals.textBytes,
  };
}

/** Scrolls steadily through some viewports, and then in jumps through the whole list. */
async function scroll() {
  const rows = list(".rows");
  const seen = new Set();
  const note = () => {
    for (const row of list().renderRoot.querySelectorAll("[data-seq]")) seen.add(row.dataset.seq);
  };
  rows.scrollTop = 0;
  await painted();
  await painted();
  const frames = new Frames();
  for (let n = 1; n <= STEADY_FRAMES; n++) {
    await nextFrame();
    rows.scrollTop += STEADY_STEP;
    if (n % 10 === 0) note();
  }
  for (let n = 1; n <= JUMP_FRAMES; n++) {
    await nextFrame();
    rows.scrollTop = (rows.scrollHeight * n) / JUMP_FRAMES;
    if (n % 10 === 0) note();
  }
  const { p95, longest } = frames.stop();
  await painted();
  await painted();
  note();
  if (!seen.has(String(COUNT - 1)) || seen.size < 200)
    throw new Error(`scrolling must draw rows up to the last one, got ${seen.size} rows`);
  return { scrollP95: p95, scrollLongest: longest };
}

/** Types a text in a field of the filter. */
function type(field, text) {
  const input = list("pw-list-tools", `input.${field}`);
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
}

/**
 * Returns the times from the change of a filter until the result is known, and until the result is drawn. The result is
 * known once `expected` rows match. Without `expected`, it is known once fewer than all rows match.
 */
async function filter(model, change, expected) {
  await painted();
  const isDone = () => (expected === undefined ? model.counts().all < COUNT : model.counts().all === expected);
  const start = performance.now();
  let known;
  const stop = model.list.subscribe(() => {
    if (known === undefined && isDone()) known = performance.now() - start;
  });
  change();
  const isDrawn = () => list(".rows").dataset.revision === String(model.totals().revision) && list("[data-seq]");
  await until("the list is drawn", () => known !== undefined && isDrawn());
  await nextTask();
  stop();
  return { known, painted: performance.now() - start };
}

async function searchAndFilter(model, matches) {
  const searches = [];
  const paints = [];
  const clear = async () => {
    for (const field of ["method", "id", "text"]) type(field, "");
    await until("the filter ends", () => model.counts().all === COUNT);
    await painted();
  };
  for (let n = 0; n < SEARCHES; n++) {
    for (const [text, expected] of Object.entries(matches)) {
      const { known, painted: drawn } = await filter(model, () => type("text", text), expected);
      searches.push(known);
      paints.push(drawn);
      await clear();
    }
    for (const [field, text] of [
      ["method", "didchange"],
      ["id", "77"],
    ]) {
      paints.push((await filter(model, () => type(field, text))).painted);
      await clear();
    }
  }
  return { search: Math.max(...medians(searches, 2)), paint: Math.max(...medians(paints, 4)) };
}

/** Returns the median of each kind of values. The value at `index` has the kind `index % kinds`. */
function medians(values, kinds) {
  return Array.from({ length: kinds }, (_, kind) => {
    const own = values.filter((_, index) => index % kinds === kind).sort((a, b) => a - b);
    return own[Math.floor(own.length / 2)];
  });
}

const parts = {
  async list(model) {
    model.configure({ limit: COUNT });
    const taken = await withLoad(() => takeIn(model));
    const scrolled = await withLoad(scroll);
    const found = await withLoad(() => searchAndFilter(model, taken.matches));
    return { taken, scrolled, found };
  },

  // ------------------------------------------------------- a large message

  async large(model) {
    const measure = async () => {
      const times = [];
      let longest = 0;
      for (let n = 0; n < LARGE_MESSAGES; n++) {
        const text = largeText(n);
        const record = { kind: "message", at: Date.now() * 1000, link: "bench", direction: "sent", form: "text", text };
        for (const form of FORMS) {
          const button = detail(`[data-tab=${form}]`);
          // The other forms show the message that the tree has shown.
          if (form === FORMS[0]) button.click();
          await painted();
          const frames = new Frames();
          const start = performance.now();
          if (form !== FORMS[0]) button.click();
          else {
            model.take([record]);
            await model.whenTaken();
            model.selected.set(model.core.last());
          }
          await until(`the form ${form} is drawn`, () => isShown(form, model.selected.value));
          await nextTask();
          times.push(performance.now() - start);
          longest = Math.max(longest, frames.stop().longest);
        }
      }
      return { ...Object.fromEntries(medians(times, FORMS.length).map((time, n) => [FORMS[n], time])), longest };
    };
    return { large: await withLoad(measure) };
  },

  // -------------------------------------------------------- a steady stream

  async flat(model) {
    const seconds = Number(searchParams.get("seconds"));
    const policy = window.trustedTypes.createPolicy("portway-bench", { createScriptURL: (url) => url });
    const worker = new Worker(policy.createScriptURL("/bench/worker.js"), { type: "module" });
    worker.postMessage(PER_SECOND);
    await until("the history is full", () => model.totals().droppedRows > 0);
    const samples = [];
    const count = Math.max(6, Math.min(60, Math.floor(seconds / 6)));
    for (let n = 0; n < count; n++) samples.push(await sampleStream(model, worker, seconds / count));
    worker.terminate();
    return { samples };
  },
};

/** Measures a part of the stream, and then the memory and the bare page while the stream pauses. */
async function sampleStream(model, worker, seconds) {
  worker.postMessage(PER_SECOND);
  const { taken, lost } = model.totals();
  const start = performance.now();
  const frames = new Frames();
  while (performance.now() < start + seconds * 1000) await nextFrame();
  const durations = frames.take();
  frames.stop();
  const perSecond = ((model.totals().taken - taken) * 1000) / (performance.now() - start);
  worker.postMessage(0);
  const { heap, wasm } = await usedBytes();
  const bare = await bareFrames();
  return {
    ...summaryOf(durations),
    perSecond,
    lost: model.totals().lost - lost,
    heap,
    wasm,
    bareP95: bare.p95,
    slowness: await slowness(),
  };
}

function isShown(form, seq) {
  const view = [...detail().renderRoot.querySelectorAll("pw-message-view")].find((each) => each.seq === seq);
  const content = view?.renderRoot.querySelector("pw-json-tree, pw-code-view, pw-hex-view");
  if (!content) return false;
  if (form === "tree") return content.matches("pw-json-tree") && content.renderRoot.textContent.includes('"large"');
  if (form === "hex") return content.matches("pw-hex-view") && content.renderRoot.textContent.includes("jsonrpc");
  // The formatted text has many lines, and the exact text has one.
  const lines = content.renderRoot.querySelectorAll(".cm-line").length;
  return content.matches("pw-code-view") && (form === "formatted" ? lines > 10 : lines === 1);
}

try {
  const view = find("pw-inspector");
  const { model } = await until("the inspector starts", () => view.context);
  await painted();
  await post({ results: await parts[searchParams.get("part")](model) });
} catch (error) {
  await post({ error: `${error}\n${error?.stack}` });
}
