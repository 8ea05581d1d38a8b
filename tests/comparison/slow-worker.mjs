// Probes a call to a module worker that is still loading. The worker awaits a promise at its top level before it
// listens, as a worker that loads wasm does. In Node, the port of a worker buffers messages until the module has
// loaded. In a browser, messages that arrive before the worker listens are lost. So this probe runs in Chromium.

import { createServer } from "node:http";
import { launch } from "../chromium.mjs";
import { bundle } from "./bundles.mjs";
import { outcome } from "./probes/channel.mjs";

const TEST_TIMEOUT_MS = 6000;

/** Returns the outcomes of the libraries of a catalogue, by module. */
export async function slowWorker(catalogue) {
  const files = new Map([["/", { type: "text/html", body: "<!doctype html><title>slow worker</title>" }]]);
  for (const { module, firstImportOfWorker } of catalogue) {
    const put = async (file, source) => {
      files.set(`/${module}/${file}`, { type: "text/javascript", body: await bundle(source) });
    };
    await put("worker.js", workerSource(module, firstImportOfWorker));
    await put("page.js", pageSource(module));
  }
  const server = createServer((request, response) => {
    const { type, body } = files.get(request.url) ?? { type: "text/plain", body: "" };
    response.writeHead(files.has(request.url) ? 200 : 404, { "content-type": type }).end(body);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const states = catalogue.map(async ({ module }) => [module, judge(await page.evaluate(askOne, module))]);
    return Object.fromEntries(await Promise.all(states));
  } finally {
    await browser.close();
    server.close();
  }
}

function judge(state) {
  return outcome(state === "answered" ? "yes" : "no", state);
}

/** Runs in the page. */
async function askOne(module) {
  const { ask } = await import(`/${module}/page.js`);
  return ask();
}

const pageSource = (module) => `
  import * as library from "./libraries/${module}.mjs";
  import { ending } from "./probes/channel.mjs";
  export async function ask() {
    const worker = new Worker("/${module}/worker.js", { type: "module" });
    const answer = library.connectCaller(worker, "worker").then(({ call }) => call("echo", { text: "hi" }));
    const { state, value } = await ending(answer, ${TEST_TIMEOUT_MS});
    worker.terminate();
    return value === "hi" ? "answered" : state;
  }`;

const workerSource = (module, firstImport) => `
  ${firstImport ? `import "${firstImport}";` : ""}
  import * as library from "./libraries/${module}.mjs";
  await new Promise((loaded) => setTimeout(loaded, 1500));
  library.serve(self, { echo: ({ text }) => text }, "self");`;
