// Creates the client of one library. This module runs in a separate iframe. `main.js` calls `bench.run` of the window
// of this iframe.

import { loopback } from "./loopback.js";
import { workloads } from "./workloads.js";

export function start(library, id) {
  const query = new URLSearchParams(location.search);
  const boundary = query.get("boundary");
  let caller;
  globalThis.bench = {
    ready: createClient(library, id, boundary, query.get("ownOrigin"), query.get("otherOrigin")).then(
      (created) => (caller = created),
    ),
    run: (workload, size) => workloads[workload](caller, size),
  };
  frameElement.dispatchEvent(new Event("started"));
}

async function createClient(library, id, boundary, ownOrigin, otherOrigin) {
  if (boundary === "loopback") return loopback(library);
  if (boundary.endsWith("worker")) return createWorkerClient(library, id, boundary);
  return createIframeClient(library, id, boundary, boundary.includes("far") ? otherOrigin : ownOrigin);
}

async function createWorkerClient(library, id, boundary) {
  const kind = boundary === "worker" ? "self" : "port";
  const worker = new Worker(`/server/${id}.js?${new URLSearchParams({ kind })}`, { type: "module" });
  await ready(worker);
  if (kind === "self") return library.call({ kind: "worker", target: worker });
  const { port1, port2 } = new MessageChannel();
  worker.postMessage("serve", [port2]);
  return library.call({ kind: "port", target: port1 });
}

async function createIframeClient(library, id, boundary, origin) {
  const kind = boundary.startsWith("port") ? "port" : "parent";
  const iframe = document.createElement("iframe");
  iframe.src = `${origin}/server/${id}.html?${new URLSearchParams({ kind, client: location.origin })}`;
  const started = ready(globalThis);
  document.body.append(iframe);
  await started;
  if (kind === "parent") return library.call({ kind: "frame", target: iframe.contentWindow, element: iframe, origin });
  const { port1, port2 } = new MessageChannel();
  iframe.contentWindow.postMessage("serve", origin, [port2]);
  return library.call({ kind: "port", target: port1 });
}

/** Waits for the message "ready" from the server. */
function ready(source) {
  return new Promise((resolve) => {
    source.addEventListener("message", function listener({ data }) {
      if (data !== "ready") return;
      source.removeEventListener("message", listener);
      resolve();
    });
  });
}
