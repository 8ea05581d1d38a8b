// Arrays of an attacker: batches with ids of equal hashes, batches that end the session, and long arrays of holes.
//
// Most engines clone a long array of holes immediately, but an iteration over such an array takes minutes. The tests of
// long arrays use transports that do not clone, because WebKit needs time linear in the length to clone such an array.

import { assert } from "chai";
import { JSONRPCPeer, JSONRPCServer, connect } from "./support/portway.js";
import { scriptedChannel, recorder } from "./support/transports.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

/** An iteration over an array of this length takes a noticeable time, but the run still ends. */
const LENGTH = 2 ** 27;

const holes = (...items) => Object.assign([], items, { length: LENGTH });
const note = { jsonrpc: "2.0", method: "n" };

/** Ids that are equal in the 64 bits that V8 hashes, and small numbers for comparison. */
const idsOf = { bigint: (n) => (1n << 64n) * BigInt(n + 1), number: (n) => 1e6 + n };

describe("a batch", () => {
  it("of responses whose ids have equal hashes is not much slower than a batch with other ids", async function () {
    this.timeout(60_000);
    const transport = recorder();
    const peer = new JSONRPCPeer(transport, { onError() {} });
    // The number of responses of a batch that the library examines grows with the number of calls that have been
    // pending at one time. So the test first makes many calls.
    const calls = Array.from({ length: 10_000 }, () => peer.request("a"));
    for (const { id } of transport.sent) transport.deliver({ jsonrpc: "2.0", id, result: 1 });
    await Promise.all(calls);
    const time = (kind) => {
      const batch = Array.from({ length: 11_000 }, (_, n) => ({ jsonrpc: "2.0", id: idsOf[kind](n), result: 1 }));
      const start = performance.now();
      transport.deliver(batch);
      return performance.now() - start;
    };
    const minimum = (kind) => Math.min(...[1, 2, 3].map(() => time(kind)));
    // The clock of a browser may have a resolution of one millisecond.
    assert.isBelow(minimum("bigint"), 5 * minimum("number") + 50);
    peer.destroy();
  });

  /** Creates a peer on a transport. `transport.lose()` ends the session. */
  function peerOnLosableTransport() {
    const transport = Object.assign(recorder(), {
      onClose: (handler) => (transport.lose = () => handler(new Error("gone"), true)),
    });
    return { transport, peer: new JSONRPCPeer(transport, { onError() {} }) };
  }

  it("is not handled further after one of its messages has ended the session: its responses end no later call", async () => {
    const { transport, peer } = peerOnLosableTransport();
    let ran = 0;
    let next;
    const beginNextSession = () => {
      transport.lose();
      next = peer.request("next", [], { timeout: 200 });
    };
    peer
      .method("work", () => void ran++)
      .method("watch", (_, { signal }) => new Promise(() => signal.addEventListener("abort", beginNextSession)));
    transport.deliver({ jsonrpc: "2.0", id: 1, method: "watch" });
    const forged = Array.from({ length: 5 }, (_, id) => ({ jsonrpc: "2.0", id, result: "forged" }));
    const cancel = { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } };
    transport.deliver([
      cancel,
      ...forged,
      { jsonrpc: "2.0", id: 2, method: "work" },
      { jsonrpc: "2.0", method: "work" },
    ]);
    assert.equal((await rejection(next)).reason, "timeout");
    assert.equal(ran, 0);
    peer.destroy();
  });

  it("runs no further handler after a handler has ended the session", () => {
    const { transport, peer } = peerOnLosableTransport();
    let ran = 0;
    const work = () => ++ran === 3 && transport.lose();
    peer.onNotify("work", work).method("call", work);
    transport.deliver(
      Array.from({ length: 500 }, (_, n) =>
        n % 2 ? { jsonrpc: "2.0", method: "work" } : { jsonrpc: "2.0", id: n, method: "call" },
      ),
    );
    assert.equal(ran, 3);
    peer.destroy();
  });
});

describe("an array with holes", () => {
  for (const [name, make] of Object.entries({
    "and nothing else": () => holes(),
    "that begins with a message": () => holes(note),
    "between messages": () => [note, , note], // eslint-disable-line no-sparse-arrays
  })) {
    it(`${name} is a foreign message, and is ignored in a short time`, () => {
      const transport = recorder();
      const events = [];
      new JSONRPCPeer(transport, { onError: (error) => events.push(error) }).onNotify("n", () => events.push("n"));
      const start = performance.now();
      transport.deliver(make());
      assert.isBelow(performance.now() - start, 200);
      assert.deepEqual([events, transport.sent], [[], []]);
    });
  }

  it("is ignored if it arrives through a port", async () => {
    const { transport, remoteEnd } = scriptedChannel();
    const events = [];
    new JSONRPCServer(transport, { onError: (error) => events.push(error) }).onNotify("n", () => events.push("n"));
    remoteEnd.post(new Array(3));
    remoteEnd.post([note, , note]); // eslint-disable-line no-sparse-arrays
    assert.deepEqual([await remoteEnd.unreadBeforeResponse(), events], [[], []]);
  });

  it("is read in a short time if it is the list of features in a hello or a response", async () => {
    const sent = [];
    const listeners = {};
    const target = {
      postMessage: (message) => sent.push(message),
      addEventListener: (type, listener) => (listeners[type] = listener),
      removeEventListener() {},
    };
    const connecting = connect(target);
    const deliver = (data) => listeners.message({ data });
    const id = "f".repeat(32);
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    await until(() => sent.length > 0);
    const start = performance.now();
    deliver({ jsonrpc: "2.0", id, method: "rpc.hello", params: { version: 1, channel: "", features: holes("batch") } });
    deliver({
      jsonrpc: "2.0",
      id: sent[0].id,
      result: { session: id, version: 1, features: holes("batch"), port: port1 },
    });
    assert.isBelow(performance.now() - start, 200);
    (await connecting).destroy();
  });

  it("in an error is sent without its holes, and in a short time", () => {
    const transport = recorder();
    new JSONRPCServer(transport).method("check", (params) => {
      throw Object.assign(new Error("invalid", { cause: params.list }), {
        params,
        errors: [...params.list.slice(0, 2), params.more],
      });
    });
    const start = performance.now();
    transport.deliver({ jsonrpc: "2.0", method: "check", params: { list: holes(1), more: holes(2) }, id: 1 });
    assert.isBelow(performance.now() - start, 200);
    const [{ error }] = transport.sent;
    assert.deepEqual([error.message, error.data], ["invalid", { cause: [1], errors: [1, [2]] }]);
  });
});
