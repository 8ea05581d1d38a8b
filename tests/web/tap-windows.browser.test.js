// Taps of workers, iframes and windows: both peers record the same messages.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport, workerTransport } from "./support/portway.js";
import { collected, randomCalls, randomOf, readTaps, sessionTap, tap } from "./support/taps.js";
import { connected, recordSessions } from "./support/connections.js";
import { connectingIframe, iframeUrl, openIframe } from "./support/iframes.js";
import { readyWorker, worker } from "./support/workers.js";
import { afterThisTest } from "./support/cleanup.js";
import { until } from "./support/outcomes.js";

/** Returns an array to which a reader adds the records from all recorders on the channel `name`. */
function recordsFrom(name) {
  const records = [];
  afterThisTest(readTaps(name, (batch) => void records.push(...batch)));
  return records;
}

const textsOf = (records, direction) =>
  records.filter((record) => record.kind === "message" && record.direction === direction).map(({ text }) => text);

/** Checks that both peers have recorded the same messages. Each argument is a function that returns the records. */
async function assertSame(near, far) {
  for (const [sender, receiver] of [
    [near, far],
    [far, near],
  ]) {
    const [sent, received] = [() => textsOf(sender(), "sent"), () => textsOf(receiver(), "received")];
    await until(() => sent().length > 0 && sent().length === received().length, "a message is missing");
    assert.deepEqual(received(), sent());
  }
}

describe("a tapped worker", () => {
  it("and its page record the same messages", async () => {
    const name = `tap ${Math.random()}`;
    const far = recordsFrom(name);
    const found = collected({ maxBytes: 2 ** 26 });
    const started = await readyWorker("worker.js", { tap: name });
    const peer = new JSONRPCPeer(tap(workerTransport(started), { sink: found.recorder }));
    afterThisTest(() => peer.destroy());
    const random = randomOf(3);
    for (let n = 0; n < 10; n++) await randomCalls(peer, random, 50);
    assert.equal(found.records[0].transport, "worker");
    await assertSame(
      () => found.records,
      () => far,
    );
  }).timeout(30_000);

  it("that uses connect() and its page record the same messages of their session", async () => {
    const name = `tap ${Math.random()}`;
    const far = recordsFrom(name);
    const found = collected({ maxBytes: 2 ** 26 });
    const peer = await connected(worker("connect-worker.js", { tap: name }), {
      tap: sessionTap({ name: "worker", sink: found.recorder }),
    });
    const random = randomOf(4);
    for (let n = 0; n < 10; n++) await randomCalls(peer, random, 50);
    // The hellos are not compared: the first hellos may be sent before the peer listens.
    const isNoHello = ({ text }) => !text?.includes('"rpc.hello"');
    await assertSame(
      () => found.records.filter(isNoHello),
      () => far.filter(isNoHello),
    );
  }).timeout(30_000);
});

describe("a tapped window", () => {
  it('is recorded, with the transport "window"', async () => {
    const element = await openIframe("frame.html");
    const found = collected();
    const transport = tap(windowTransport(element.contentWindow), { sink: found.recorder });
    const peer = new JSONRPCPeer(transport);
    afterThisTest(() => peer.destroy());
    assert.deepEqual(await peer.request("echo", [1]), [1]);
    await found.untilMessages(2);
    assert.equal(found.records[0].transport, "window");
  });

  it("has the records `open` and `close` for each document that connects in an iframe", async () => {
    const name = `tap ${Math.random()}`;
    const far = recordsFrom(name);
    const found = collected();
    const sessions = recordSessions({ tap: sessionTap({ name: "preview", sink: found.recorder }) });
    const element = connectingIframe({ tap: name });
    const peer = await connected(element, sessions);
    for (const number of [1, 2, 3]) {
      assert.deepEqual(await peer.request("echo", [number]), [number]);
      await until(() => textsOf(found.records, "received").some((text) => text.includes(`"result":[${number}]`)));
      if (number < 3) element.src = `${iframeUrl({ tap: name })}&n=${number}`;
      if (number < 3) await until(() => sessions.events.includes(number + 1), "no session", 10_000);
    }
    peer.destroy();
    await until(() => found.ofKind("close").length >= 3);
    const kinds = found.records.map(({ kind }) => kind).filter((kind) => kind !== "message");
    assert.deepEqual(kinds, ["open", "close", "open", "close", "open", "close"]);
    const calls = (direction) => textsOf(found.records, direction).filter((text) => text.includes('"echo"'));
    assert.equal(calls("sent").length, 3);
    // Each document has a recorder of its own.
    await until(() => new Set(far.map(({ link }) => link)).size === 3, "the records of a document are missing");
    await until(() => textsOf(far, "received").filter((text) => text.includes('"echo"')).length === 3);
  }).timeout(30_000);
});
