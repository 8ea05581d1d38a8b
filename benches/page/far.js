// The far end of one subject, in a worker or a frame.

import { makeMethods } from "./methods.js";

export function start(subject) {
  const query = new URLSearchParams(location.search);
  const kind = query.get("kind");
  const origin = query.get("near");
  const tellReady = () =>
    kind === "self" || origin === null ? postMessage("ready") : parent.postMessage("ready", origin);
  if (kind === "port") {
    addEventListener("message", ({ ports: [target] }) => subject.serve({ kind, target }, makeMethods), { once: true });
  } else {
    subject.serve({ kind, target: kind === "self" ? self : parent, origin }, makeMethods);
  }
  tellReady();
}
