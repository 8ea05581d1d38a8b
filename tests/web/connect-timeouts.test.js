// The options `connectTimeout`, `heartbeat` and `totalTimeout`: without a limit, with very long times and with short
// times. The default is tested only for `connectTimeout`.

import { assert } from "chai";
import { JSONRPCClient, connect } from "./support/portway.js";
import { connected, hexId, ports, scriptedPort } from "./support/connections.js";
import { scriptedChannel } from "./support/transports.js";
import { isPending, pause, rejection } from "./support/outcomes.js";

/** 0 and Infinity mean no limit. The other times are very long, and most of them are too long for `setTimeout`. */
const unlimitedOrLongTimes = [0, Infinity, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 1e15, 1e300];

describe("the connectTimeout", () => {
  it("is long enough by default for a peer that begins after three seconds", async () => {
    const [near, far] = ports();
    const connecting = connected(near);
    await pause(3_000);
    await connected(far, { methods: { echo: ([n]) => n } });
    assert.equal(await (await connecting).request("echo", [1]), 1);
  });

  for (const connectTimeout of unlimitedOrLongTimes) {
    it(`does not end the attempt at once if it is ${connectTimeout} ms`, async () => {
      const [near, far] = ports();
      const connecting = connected(near, { connectTimeout });
      connecting.catch(() => {});
      assert.isTrue(await isPending(connecting, 100));
      await connected(far, { methods: { echo: ([n]) => n } });
      assert.equal(await (await connecting).request("echo", [1]), 1);
    });
  }

  it("ends the attempt if it is one millisecond", async () => {
    assert.equal((await rejection(connect(ports()[0], { connectTimeout: 1 }))).reason, "no-answer");
  });
});

describe("the heartbeat of a connection", () => {
  for (const heartbeat of unlimitedOrLongTimes) {
    it(`does not end the session at once or flood the peer if it is ${heartbeat} ms`, async () => {
      const { port, scriptedPeer } = scriptedPort();
      const events = [];
      const connecting = connected(port, { heartbeat, timeout: 0, onLost: ({ reason }) => events.push(reason) });
      const end = await scriptedPeer.open({ session: hexId(1) });
      const call = (await connecting).request("a");
      const request = await end.nextCall();
      assert.isTrue(await isPending(call, 150));
      // The library sends one ping when it begins to use the port.
      assert.isAtMost(end.received.filter(({ method }) => method === "rpc.ping").length, 1);
      end.answer(request, "there");
      assert.equal(await call, "there");
      assert.deepEqual(events, []);
    });
  }

  it("ends the calls to a silent peer if it is 90 ms", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const connecting = connected(port, { heartbeat: 90, timeout: 0 });
    await scriptedPeer.open({ session: hexId(1) });
    assert.equal((await rejection((await connecting).request("a"))).reason, "unresponsive");
  });
});

describe("the totalTimeout of a call", () => {
  /**
   * Makes a call with these options. Returns the call, and functions by which the test sends progress and the result.
   */
  async function startCall(options) {
    const { transport, remoteEnd } = scriptedChannel();
    const client = new JSONRPCClient(transport);
    const call = client.request("a", undefined, options);
    call.catch(() => {});
    const { id } = await remoteEnd.next();
    const progress = (value) => remoteEnd.post({ jsonrpc: "2.0", method: "$/progress", params: { token: id, value } });
    return { call, progress, answer: (result) => remoteEnd.post({ jsonrpc: "2.0", id, result }) };
  }

  for (const totalTimeout of unlimitedOrLongTimes) {
    it(`does not end the call at once if it is ${totalTimeout} ms, with or without progress`, async () => {
      for (const timeout of [0, 5_000, 2 ** 31]) {
        const quiet = await startCall({ totalTimeout, timeout });
        const seen = [];
        const reporting = await startCall({ totalTimeout, timeout, onProgress: (value) => seen.push(value) });
        for (let n = 0; n < 3; n++) {
          reporting.progress(n);
          assert.isTrue(await isPending(Promise.race([quiet.call, reporting.call]), 15));
        }
        quiet.answer("quiet");
        reporting.answer("reporting");
        assert.deepEqual([await quiet.call, await reporting.call, seen], ["quiet", "reporting", [0, 1, 2]]);
      }
    });
  }

  for (const totalTimeout of [0, Infinity, 2 ** 31, 1e300]) {
    it(`does not disable the timeout if it is ${totalTimeout} ms: progress restarts the timeout, and silence ends the call`, async () => {
      const quiet = await startCall({ totalTimeout, timeout: 30 });
      assert.equal((await rejection(quiet.call)).reason, "timeout");
      const { call, progress } = await startCall({ totalTimeout, timeout: 500, onProgress() {} });
      const ticking = setInterval(progress, 20);
      assert.isTrue(await isPending(call, 1_100));
      clearInterval(ticking);
      assert.equal((await rejection(call)).reason, "timeout");
    });
  }

  it("ends the call if it is 60 ms, although progress arrives and the timeout is longer or 0", async () => {
    for (const timeout of [0, 5_000]) {
      const { call, progress } = await startCall({ totalTimeout: 60, timeout, onProgress() {} });
      const ticking = setInterval(progress, 10);
      assert.equal((await rejection(call)).reason, "timeout");
      clearInterval(ticking);
    }
  });
});
