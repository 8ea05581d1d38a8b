// The garbage collector does not end a peer whose `remote` is in use, between windows and with workers.

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
  "with an iframe": async () => serve(new JSONRPCPeer(windowTransport((await openIframe("frame.html")).contentWindow))),
  "with a worker": async () => serve(new JSONRPCPeer(workerTransport(await readyWorker("worker.js")))),
  "connected to an iframe": () => connect(connectingIframe(), { methods }),
  "connected to a worker": () => connect(worker("connect-worker.js"), { methods }),
};

describe("the garbage collector does not end a peer if the application refers only to `remote`", function () {
  this.timeout(40_000);

  for (const [name, make] of Object.entries(kinds)) {
    it(`${name}`, async () => {
      const remote = await (async () => {
        const peer = await make();
        afterThisTest(() => peer.destroy());
        return peer.remote;
      })();
      await assertWorks(remote);
    });
  }
});
