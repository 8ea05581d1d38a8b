import "./instruments.js";
import * as portway from "/pkg/portway.js";
import { runRealm } from "./realm.js";

await portway.default();
runRealm({
  portway,
  source: window,
  post: (message) => parent.postMessage(message, location.origin),
  owner: parent,
  transport: () => portway.windowTransport(parent),
});
parent.postMessage({ soak: "ready" }, location.origin);
