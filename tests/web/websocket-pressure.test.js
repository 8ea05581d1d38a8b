// A server that does not read: streams wait, and other messages fail.

import { assert } from "chai";
import { CallError } from "./support/portway.js";
import { connectTo, sockets, startServer } from "./support/sockets.js";
import { pause, rejection, until } from "./support/outcomes.js";

const MIB = 2 ** 20;
const text = "x".repeat(MIB / 4);

/** A peer whose server has stopped reading. */
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
   * Whether this platform shows the bytes that the peer has not read. WebKit counts bytes as sent once its network
   * process has them.
   */
  async function showsUnread() {
    for (let n = 0; n < 48; n++) connection.peer.notify("noise", [text]);
    const end = Date.now() + 1_000;
    while (socket.bufferedAmount > 0 && Date.now() < end) await pause(20);
    return socket.bufferedAmount > 0;
  }
  return { server, showsUnread, ...connection };
}

/** Sends notifications until one fails. Returns their number and the error. */
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

describe("A WebSocket whose peer does not read", () => {
  it("a notification fails above 16 MiB of unsent bytes (case 155)", async () => {
    const { peer, server } = await stalled();
    const { sent, error } = flood(peer);
    assert.instanceOf(error, CallError);
    assert.equal(error.reason, "congested");
    // The operating system holds some more.
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

  it("a stream waits above 1 MiB of unsent bytes, and goes on once the peer reads (case 155)", async () => {
    if (!(await (await stalled()).showsUnread())) return;
    const { peer, server } = await stalled();
    let made = 0;
    peer.method("count", async function* () {
      for (; made < 200; ) yield [made++, text];
    });
    const stream = '{"jsonrpc":"2.0","method":"rpc.stream","params":{"method":"count","credit":1000},"id":"s"}';
    await server.command("send", { text: stream });
    await until(() => made > 4);
    // The number of items grows until the buffers of the system and 1 MiB are full.
    let last = -1;
    while (made !== last) {
      last = made;
      await pause(300);
    }
    assert.isBelow(made, 200);
    const items = (log) => log[0].received.filter((text) => text.includes('"rpc.item"')).length;
    await server.command("resume");
    await server.logOnce((log) => items(log) === 200);
    assert.equal(made, 200);
  });

  it("a peer that does not read the answers to earlier requests is left at 32 MiB", async () => {
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

  it("a peer that sends requests and reads no answers is refused", async () => {
    if (!(await (await stalled()).showsUnread())) return;
    const { peer, server, named } = await stalled({ reconnect: { base: 60_000 } });
    let served = 0;
    peer.method("large", () => (served++, text));
    const request = (id) => `{"jsonrpc":"2.0","method":"large","id":${id}}`;
    for (let id = 0; id < 200; id++) await server.command("send", { text: request(id) });
    await until(() => served >= 64);
    await pause(200);
    // The others were refused: 16 MiB, and the buffers of the system.
    assert.isBelow(served, 150);
    // Notifications go on to fail, and do not fill the memory either.
    assert.equal(flood(peer).error.reason, "congested");
    assert.equal(named("onLost").length, 0);
  });
});
