// The near end of one subject, in a realm of its own: `window.bench` runs workloads on it when the page asks.

import { loopback } from "./loopback.js";
import { workloads } from "./workloads.js";

export function start(subject, id) {
  const query = new URLSearchParams(location.search);
  const boundary = query.get("boundary");
  let caller;
  globalThis.bench = {
    ready: join(subject, id, boundary, query.get("own"), query.get("other")).then((made) => (caller = made)),
    run: (workload, size) => workloads[workload](caller, size),
  };
  frameElement.dispatchEvent(new Event("started"));
}

async function join(subject, id, boundary, own, other) {
  if (boundary === "loopback") return loopback(subject);
  if (boundary.endsWith("worker")) return joinWorker(subject, id, boundary);
  return joinFrame(subject, id, boundary, boundary.includes("far") ? other : own);
}

async function joinWorker(subject, id, boundary) {
  const kind = boundary === "worker" ? "self" : "port";
  const worker = new Worker(`/far/${id}.js?${new URLSearchParams({ kind })}`, { type: "module" });
  await ready(worker);
  if (kind === "self") return subject.call({ kind: "worker", target: worker });
  const { port1, port2 } = new MessageChannel();
  worker.postMessage("serve", [port2]);
  return subject.call({ kind: "port", target: port1 });
}

async function joinFrame(subject, id, boundary, origin) {
  const kind = boundary.startsWith("port") ? "port" : "parent";
  const frame = document.createElement("iframe");
  frame.src = `${origin}/far/${id}.html?${new URLSearchParams({ kind, near: location.origin })}`;
  const started = ready(globalThis);
  document.body.append(frame);
  await started;
  if (kind === "parent") return subject.call({ kind: "frame", target: frame.contentWindow, element: frame, origin });
  const { port1, port2 } = new MessageChannel();
  frame.contentWindow.postMessage("serve", origin, [port2]);
  return subject.call({ kind: "port", target: port1 });
}

/** Until the other side says that it listens. */
function ready(source) {
  return new Promise((resolve) => {
    source.addEventListener("message", function listener({ data }) {
      if (data !== "ready") return;
      source.removeEventListener("message", listener);
      resolve();
    });
  });
}
