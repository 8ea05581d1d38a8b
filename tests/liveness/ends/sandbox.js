// Measures what becomes of its own workers. It has no origin, and so neither has its workers' script, and nobody here has
// locks.

import init, { connect } from "/pkg/portway.js";
import { measure } from "../page/measure.js";

const script = `import ${JSON.stringify(new URL("worker.js", import.meta.url))};`;
const url = `data:text/javascript,${encodeURIComponent(script)}`;

async function open() {
  const worker = new Worker(url, { type: "module" });
  return { worker, peer: await connect(worker, { connectTimeout: 60_000 }) };
}

try {
  await init();
  const results = await measure({ open, kill: ({ worker }) => worker.terminate() });
  parent.postMessage({ type: "measured", results }, "*");
} catch (error) {
  parent.postMessage({ type: "measured", error: `${error}` }, "*");
}
