// Tests workers that end, and workers that never start.

import { connect, connectedWorker, frameElement, worker } from "./boundaries.js";
import { measure, measureStart } from "./measure.js";

const close = ({ worker }) => worker.terminate();

/**
 * Measures workers that never connect. The measured time begins with the start of the script. If the script is missing,
 * it begins with the error of the browser.
 */
function startOf(file, scriptExists = true) {
  return () => {
    const started = [];
    const begin = (_, startClock) => {
      const newWorker = worker(file);
      started.push(newWorker);
      newWorker.addEventListener("message", ({ data }) => data?.type === "starts" && startClock());
      if (!scriptExists) newWorker.addEventListener("error", startClock);
      return connect(newWorker);
    };
    return measureStart({ begin }).finally(() => started.forEach((worker) => worker.terminate()));
  };
}

export const workers = {
  "a worker is terminated": () => measure({ open: () => connectedWorker(), kill: ({ worker }) => worker.terminate() }),
  "a worker closes itself": () =>
    measure({ open: () => connectedWorker(), kill: ({ worker }) => worker.postMessage({ type: "close" }), close }),
  "a worker's script is missing": startOf("nowhere.js", false),
  "a worker's script throws when it starts": startOf("throwing-worker.js"),
  "a top-level await of a worker's script rejects": startOf("rejecting-worker.js"),
  "a worker's wasm does not load": startOf("failing-worker.js"),
  "a worker's wasm does not load, and portway/early reports it": startOf("early-failing-worker.js"),
  "a worker of a sandboxed iframe is terminated": () => inSandbox(),
};

/** Resolves to the measurements of the sandboxed iframe; see `fixtures/sandbox.js`. */
function inSandbox() {
  const element = frameElement("sandboxed", "sandbox.html");
  return new Promise((resolve, reject) => {
    addEventListener("message", function listener({ source, data }) {
      if (source !== element.contentWindow || data?.type !== "measured") return;
      removeEventListener("message", listener);
      element.remove();
      if (data.error === undefined) resolve(data.results);
      else reject(new Error(data.error));
    });
  });
}
