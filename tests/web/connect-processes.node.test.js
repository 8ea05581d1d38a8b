// `connect` between a Node program and the processes that it has forked.

import { assert } from "chai";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { JSONRPCClient, connect, workerTransport } from "./support/portway.js";
import { connected, recordSessions } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

function forkFixture(options, file = "connect-process.mjs") {
  const child = fork(new URL(`fixtures/${file}`, import.meta.url), [""], options);
  afterThisTest(() => child.kill("SIGKILL"));
  return child;
}

describe("a forked process and its parent", function () {
  this.timeout(30_000);

  for (const serialization of ["json", "advanced"]) {
    it(`connect, and calls work both ways: serialization ${serialization}`, async () => {
      const peer = await connected(forkFixture({ serialization }), { methods: { name: ([n]) => `main ${n}` } });
      assert.deepEqual(await peer.request("echo", [1, "a", null]), [1, "a", null]);
      assert.deepEqual(await peer.request("callBack", [1]), ["back", "main 1"]);
      assert.deepEqual(await Promise.all([1, 2, 3].map((n) => peer.request("echo", [n]))), [[1], [2], [3]]);
    });
  }

  it("send bytes if the serialization is advanced", async () => {
    const peer = await connected(forkFixture({ serialization: "advanced" }));
    assert.deepEqual(await peer.request("echo", [new Uint8Array([1, 2, 3])]), [new Uint8Array([1, 2, 3])]);
  });

  it("reject transfer lists and uncloneable values, and later calls still work", async () => {
    const peer = await connected(forkFixture());
    const bytes = new Uint8Array(8);
    assert.include((await rejection(peer.request("echo", [bytes], { transfer: [bytes.buffer] }))).message, "process");
    assert.equal(bytes.byteLength, 8);
    assert.instanceOf(await rejection(peer.request("echo", [1n])), TypeError);
    assert.deepEqual(await peer.request("echo", [2]), [2]);
  });

  it("send an error for a result that JSON cannot express, in a session and without a session", async () => {
    const peer = await connected(forkFixture());
    const client = new JSONRPCClient(workerTransport(forkFixture({}, "serve-process.mjs")), { timeout: 20_000 });
    afterThisTest(() => client.destroy());
    for (const [end, kindOfEnd] of [
      [peer, "a session"],
      [client, "no session"],
    ]) {
      for (const kind of ["function", "symbol"]) {
        const { code, message } = await rejection(end.request("wordless", [kind]));
        assert.deepEqual([code, message], [-32603, 'The result of "wordless" cannot be sent: TypeError'], kindOfEnd);
      }
    }
  });

  for (const serialization of ["json", "advanced"]) {
    it(`deliver the last messages of the process even if it exits in the same turn: serialization ${serialization}`, async () => {
      const received = [];
      const peer = await connected(forkFixture({ serialization }), {
        notifications: { step: ([step]) => void received.push(step) },
      });
      assert.equal((await rejection(peer.request("compute", [5, 0, "exit"]))).reason, "peer-gone");
      assert.deepEqual(received, [0, 1, 2, 3, 4]);
    });
  }

  it("begin a new session when either of them reconnects", async () => {
    const child = forkFixture();
    const sessions = recordSessions();
    const peer = await connected(child, sessions);
    // The process destroys its peer and connects again.
    peer.notify("again");
    await until(() => sessions.events.length === 3);
    assert.deepEqual(sessions.events, [1, "session-ended", 2]);
    peer.destroy();
    assert.deepEqual(await (await connected(child)).request("echo", [2]), [2]);
  });

  for (const [how, end] of [
    ["is killed", (child) => child.kill("SIGKILL")],
    ["exits", (_, peer) => peer.notify("exit")],
    ["is disconnected", (child) => child.disconnect()],
  ]) {
    it(`end their connection at once and permanently if the process ${how}`, async () => {
      const child = forkFixture();
      const sessions = recordSessions({ heartbeat: 0 });
      const peer = await connected(child, sessions);
      const hanging = rejection(peer.request("hang", [], { timeout: 0 }));
      await peer.request("echo");
      end(child, peer);
      assert.equal((await hanging).reason, "peer-gone");
      assert.equal((await rejection(peer.request("echo"))).reason, "peer-gone");
      assert.deepEqual(sessions.events, [1, "peer-gone"]);
    });
  }

  it("exchange calls over workerTransport, without a session", async () => {
    const client = new JSONRPCClient(workerTransport(forkFixture({}, "serve-process.mjs")), { timeout: 20_000 });
    assert.deepEqual(await client.request("echo", [1]), [1]);
    client.destroy();
  });

  it("cannot connect if the process has no IPC channel or has exited: connect rejects at once", async () => {
    const child = spawn(process.execPath, ["--eval", ""], { stdio: "ignore" });
    afterThisTest(() => child.kill("SIGKILL"));
    assert.instanceOf(await rejection(connect(child)), TypeError);
    // This process was not forked.
    assert.include((await rejection(connect(process))).message, "fork()");
    assert.throws(() => workerTransport(child), TypeError, "postMessage");
    const ended = forkFixture();
    ended.kill("SIGKILL");
    await once(ended, "disconnect");
    assert.equal((await rejection(connect(ended))).reason, "worker-failed");
    const client = new JSONRPCClient(workerTransport(ended));
    assert.equal((await rejection(client.request("echo"))).reason, "peer-gone");
    client.destroy();
  });
});
