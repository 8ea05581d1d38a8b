// Serves handlers in an AudioWorklet. index.html calls them.

import { JSONRPCPeer, initSync, portTransport } from "./portway/portway.js";

registerProcessor(
  "everything",
  class extends AudioWorkletProcessor {
    constructor({ processorOptions }) {
      super();
      initSync(processorOptions.module);
      const peer = new JSONRPCPeer(portTransport(this.port));
      peer.method("add", ([a, b]) => a + b);
      peer.method("timed", () => peer.request("answer").catch(({ message }) => message));
      peer.method("never", () => new Promise(() => {}));
      peer.method("fail", () => {
        throw new Error("no");
      });
      peer.method("count", async function* () {
        for (let n = 0; n < 3; n++) yield n;
      });
    }
    process() {
      return true;
    }
  },
);
