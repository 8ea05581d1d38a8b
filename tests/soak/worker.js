import "./instruments.js";
import * as portway from "/pkg/portway.js";
import { runRealm } from "./realm.js";

await portway.default();
runRealm({
  portway,
  source: self,
  post: (message) => self.postMessage(message),
  owner: self,
  transport: () => portway.selfTransport(),
});
self.postMessage({ soak: "ready" });
