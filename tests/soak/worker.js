// Runs a worker of the soak in a browser, see peer-context.js.

import "./instruments.js";
import * as portway from "/pkg/portway.js";
import { runPeerContext } from "./peer-context.js";

await portway.default();
runPeerContext({
  portway,
  source: self,
  post: (message) => self.postMessage(message),
  owner: self,
  transport: () => portway.selfTransport(),
});
self.postMessage({ soak: "ready" });
