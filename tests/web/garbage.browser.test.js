// The garbage collector does not end a peer of an iframe or a worker while the application uses the peer's `remote`.

import { assert } from "chai";
import { JSONRPCPeer, connect, windowTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connectingIframe, openIframe } from "./support/iframes.js";
import { untilCollected } from "./support/garbage.js";
import { readyWorker, worker } from "./support/workers.js";

/** Makes calls in both directions, with garbage collections between them. */
async function assertWorks(remote) {
  for (let n = 0; n < 3; n++) {
    await untilCollected();
    assert.deepEqual(await remote.callBack([n]), ["back", `page ${n}`]);
  }
}

const serve = (peer) => peer.method("name", ([n]) => `page ${n}`);
const methods = { name: ([n]) => `page ${n}` };

const kinds = {
  "a plain peer of an iframe": async () =>
    serve(new JSONRPCPeer(windowTransport((await openIframe("frame.html")).contentWindow))),
  "a plain peer of a worker": async () => serve(new JSONRPCPeer(workerTransport(await readyWorker("worker.js")))),
  "a peer that is connected to an iframe": () => connect(connectingIframe(), { methods }),
  "a peer that is connected to a worker": () => connect(worker("connect-worker.js"), { methods }),
};

describe("if the application refers only to `remote`, the garbage collector does not end", function () {
  this.timeout(90_000);

  for (const [name, make] of Object.entries(kinds)) {
    it(name, async () => {
      const remote = await (async () => {
        const peer = await make();
        afterThisTest(() => peer.destroy());
        return peer.remote;
      })();
      await assertWorks(remote);
    });
  }
});
