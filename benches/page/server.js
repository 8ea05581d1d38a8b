// The server of one library, in a worker or an iframe.

import { makeMethods } from "./methods.js";

export function start(library) {
  const query = new URLSearchParams(location.search);
  const kind = query.get("kind");
  const origin = query.get("client");
  const postReady = () =>
    kind === "self" || origin === null ? postMessage("ready") : parent.postMessage("ready", origin);
  if (kind === "port") {
    addEventListener("message", ({ ports: [target] }) => library.serve({ kind, target }, makeMethods), { once: true });
  } else {
    library.serve({ kind, target: kind === "self" ? self : parent, origin }, makeMethods);
  }
  postReady();
}
