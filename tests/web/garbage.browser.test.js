// The garbage collector ends nothing that is in use between windows, and with workers.

import { assert } from "chai";
import { JSONRPCPeer, connect, windowTransport, workerTransport } from "./support/portway.js";
import { afterThisTest } from "./support/cleanup.js";
import { connectingIframe, openIframe } from "./support/iframes.js";
import { untilCollected } from "./support/garbage.js";
import { readyWorker, worker } from "./support/workers.js";

/** Calls to the peer, and from there back to the server here, with collections between them. */
async function works(remote) {
  for (let n = 0; n < 3; n++) {
    await untilCollected();
    assert.deepEqual(await remote.callBack([n]), ["back", `page ${n}`]);
  }
}

const serve = (peer) => peer.method("name", ([n]) => `page ${n}`);
const methods = { name: ([n]) => `page ${n}` };

const kinds = {
  "with a frame": async () => serve(new JSONRPCPeer(windowTransport((await openIframe("frame.html")).contentWindow))),
  "with a worker": async () => serve(new JSONRPCPeer(workerTransport(await readyWorker("worker.js")))),
  "connected to a frame": () => connect(connectingIframe(), { methods }),
  "connected to a worker": () => connect(worker("connect-worker.js"), { methods }),
};

describe("the garbage collector ends no peer of which nothing is held but `remote`", function () {
  this.timeout(40_000);

  for (const [name, make] of Object.entries(kinds)) {
    it(`${name}`, async () => {
      const remote = await (async () => {
        const peer = await make();
        afterThisTest(() => peer.destroy());
        return peer.remote;
      })();
      await works(remote);
    });
  }
});
