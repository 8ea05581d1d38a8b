// Runs an iframe of the soak, see peer-context.js.

import "./instruments.js";
import * as portway from "/pkg/portway.js";
import { runPeerContext } from "./peer-context.js";

await portway.default();
runPeerContext({
  portway,
  source: window,
  post: (message) => parent.postMessage(message, location.origin),
  owner: parent,
  transport: () => portway.windowTransport(parent),
});
parent.postMessage({ soak: "ready" }, location.origin);
