// A WebSocket whose server does not read: streams pause, and other messages fail.

import { assert } from "chai";
import { CallError } from "./support/portway.js";
import { connectTo, sockets, startServer } from "./support/sockets.js";
import { pause, rejection, until } from "./support/outcomes.js";

const MIB = 2 ** 20;
const text = "x".repeat(MIB / 4);

/** Returns a connected peer. Its server does not read until the command `resume`. */
async function stalled(options = {}) {
  const server = await startServer();
  let socket;
  class Observed extends (sockets.WebSocket ?? WebSocket) {
    constructor(...args) {
      super(...args);
      socket = this;
    }
  }
  const connection = connectTo(server.url, { heartbeat: false, WebSocket: Observed, ...options });
  await connection.session();
  await connection.peer.request("echo", []);
  await server.command("pause");
  /**
   * Returns whether `bufferedAmount` counts the bytes that the peer has not read. WebKit does not count bytes that its
   * network process has received.
   */
  async function showsUnread() {
    for (let n = 0; n < 48; n++) connection.peer.notify("noise", [text]);
    const end = Date.now() + 1_000;
    while (socket.bufferedAmount > 0 && Date.now() < end) await pause(20);
    return socket.bufferedAmount > 0;
  }
  return { server, showsUnread, ...connection };
}

/** Sends notifications until a notification fails. Returns the number of the sent notifications, and the error. */
function flood(peer) {
  for (let sent = 0; ; sent++) {
    assert.isBelow(sent, 4 * 64, "no notification has failed");
    try {
      peer.notify("noise", [text]);
    } catch (error) {
      return { sent, error };
    }
  }
}

describe("a WebSocket whose peer does not read", () => {
  it("makes calls and notifications fail if more than 16 MiB are unsent, until the peer reads", async () => {
    const { peer, server } = await stalled();
    const { sent, error } = flood(peer);
    assert.instanceOf(error, CallError);
    assert.equal(error.reason, "congested");
    // The operating system buffers further bytes.
    assert.isAtLeast(sent, 64);
    assert.equal((await rejection(peer.request("echo", []))).reason, "congested");
    await server.command("resume");
    const deadline = Date.now() + 8_000;
    for (;;) {
      const answer = await peer.request("echo", [1]).catch((error) => error);
      if (!(answer instanceof Error)) break;
      assert.equal(answer.reason, "congested");
      assert.isBelow(Date.now(), deadline, "the connection has not recovered");
      await pause(20);
    }
  });

  it("makes a stream pause if more than 1 MiB is unsent, until the peer reads", async () => {
    if (!(await (await stalled()).showsUnread())) return;
    const { peer, server } = await stalled();
    let produced = 0;
    peer.method("count", async function* () {
      for (; produced < 200; ) yield [produced++, text];
    });
    const stream = '{"jsonrpc":"2.0","method":"rpc.stream","params":{"method":"count","credit":1000},"id":"s"}';
    await server.command("send", { text: stream });
    await until(() => produced > 4);
    // Items are sent until the buffers of the system are full and 1 MiB is unsent.
    let last = -1;
    while (produced !== last) {
      last = produced;
      await pause(300);
    }
    assert.isBelow(produced, 200);
    const items = (log) => log[0].received.filter((text) => text.includes('"rpc.item"')).length;
    await server.command("resume");
    await server.logOnce((log) => items(log) === 200);
    assert.equal(produced, 200);
  });

  it("is closed if more than 32 MiB of responses to earlier requests are unsent", async () => {
    const { peer, server, named } = await stalled({ reconnect: { base: 60_000 } });
    const answers = [];
    peer.method("later", () => new Promise((resolve) => answers.push(resolve)));
    for (let id = 0; id < 40; id++)
      await server.command("send", { text: `{"jsonrpc":"2.0","method":"later","id":${id}}` });
    await until(() => answers.length === 40);
    for (const resolve of answers) resolve("x".repeat(MIB));
    await until(() => named("onLost").length === 1);
    assert.equal(named("onLost")[0].data.reason, "the peer does not read");
  });

  it("causes further requests of the peer to be refused", async () => {
    if (!(await (await stalled()).showsUnread())) return;
    const { peer, server, named } = await stalled({ reconnect: { base: 60_000 } });
    let served = 0;
    peer.method("large", () => (served++, text));
    const request = (id) => `{"jsonrpc":"2.0","method":"large","id":${id}}`;
    for (let id = 0; id < 200; id++) await server.command("send", { text: request(id) });
    await until(() => served >= 64);
    await pause(200);
    // The responses to the served requests fill 16 MiB and the buffers of the system. Other requests were refused.
    assert.isBelow(served, 150);
    // Notifications also fail, so they do not fill the memory.
    assert.equal(flood(peer).error.reason, "congested");
    assert.equal(named("onLost").length, 0);
  });
});
