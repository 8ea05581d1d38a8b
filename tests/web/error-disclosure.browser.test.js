// The parts of thrown errors that are sent to the least trusted peers: an iframe without an origin, and a worker.

import { assert } from "chai";
import { JSONRPCServer, windowTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { origins, scriptedIframe } from "./support/iframes.js";
import { until } from "./support/outcomes.js";
import { errorOf, replyTo, errorCases } from "./support/error-samples.js";

/** Starts a worker that posts messages on demand, and reports the messages that it receives. */
function scriptedWorker() {
  const source = `
    addEventListener("message", ({ data }) => {
      if (data.type === "post") postMessage(data.message);
      else postMessage({ type: "received", message: data });
    });`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address);
  afterThisTest(() => {
    worker.terminate();
    URL.revokeObjectURL(address);
  });
  const received = [];
  worker.addEventListener("message", ({ data }) => data.type === "received" && received.push(data.message));
  return { worker, received, post: (message) => worker.postMessage({ type: "post", message }) };
}

const boundaries = {
  "an iframe without an origin": async () => {
    const iframe = await scriptedIframe({ origin: origins.other, sandbox: "allow-scripts" });
    return { ...iframe, transport: windowTransport(iframe.window, { origin: "null" }) };
  },
  "a worker": async () => {
    const scripted = scriptedWorker();
    return { ...scripted, transport: workerTransport(scripted.worker) };
  },
};

for (const [boundary, open] of Object.entries(boundaries)) {
  describe(`an error that is sent to ${boundary}`, () => {
    it("has the same members as over a port, and no others", async () => {
      const errors = await Promise.all(errorCases.map((errorCase) => errorOf(errorCase, afterThisTest)));
      const { transport, post, received } = await open();
      const server = new JSONRPCServer(transport).method("fail", ([n]) => Promise.reject(errors[n].error));
      afterThisTest(() => server.destroy());
      for (const n of errorCases.keys()) post({ jsonrpc: "2.0", method: "fail", params: [n], id: n });
      await until(() => received.length >= errorCases.length, "a request has no response");
      received.sort((a, b) => a.id - b.id);
      for (const [n, errorCase] of errorCases.entries())
        assert.deepEqual(received[n], replyTo(n, errorCase, errors[n].error), errorCase.name);
      assert.lengthOf(received, errorCases.length);
    });
  });
}
