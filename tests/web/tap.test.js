// `portway/tap`: the records of a tapped transport, or of tapped sessions of `connect`, contain all exchanged messages.

import { assert } from "chai";
import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  broadcastTransport,
  connect,
  portTransport,
} from "./support/portway.js";
import {
  assertSameMessages,
  collected,
  randomCalls,
  randomOf,
  randomValue,
  revived,
  serveRandom,
  sessionTap,
  spyOn,
  tap,
} from "./support/taps.js";
import { channel, loopback, recorder as recordingTransport } from "./support/transports.js";
import { connected, ports, reconnect, scriptedPort } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const LARGE = { maxBytes: 2 ** 28 };
const SEED = 20_260_131;

/** Returns two tapped peers on the ports of a channel. */
function tappedPair(options) {
  const { near, far, port1, port2 } = channel();
  const crossed = spyOn(port1);
  const [nearTap, farTap] = [collected(LARGE), collected(LARGE)];
  const nearPeer = new JSONRPCPeer(tap(near, { name: "near", sink: nearTap.recorder }), options);
  const farPeer = new JSONRPCPeer(tap(far, { name: "far", sink: farTap.recorder }), options);
  afterThisTest(() => [nearPeer, farPeer].forEach((peer) => peer.destroy()));
  return { nearTap, farTap, nearPeer, farPeer, crossed, port1, port2 };
}

/** Waits until the records contain as many messages as the port has sent and received. Compares each message. */
async function assertRecorded(found, crossed) {
  for (const direction of ["sent", "received"]) {
    await until(
      () => found.texts(direction).length >= crossed[direction].length,
      `${crossed[direction].length} messages were ${direction}`,
    );
    const texts = found.texts(direction);
    assert.equal(texts.length, crossed[direction].length);
    texts.forEach((text, n) =>
      assert.deepEqual(revived(JSON.parse(text)), crossed[direction][n], `${direction}, message ${n}`),
    );
  }
}

describe("a tapped port", () => {
  it("is the transport that was passed to tap()", () => {
    const { near } = channel();
    assert.equal(tap(near, { sink: () => {} }), near);
  });

  it("has the records `open`, `message` and `close`, with their members", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair();
    farPeer.method("add", ([a, b]) => a + b);
    const before = Date.now();
    assert.equal(await nearPeer.request("add", [1, 2]), 3);
    nearPeer.destroy();
    await until(() => nearTap.ofKind("close").length === 1);
    const link = nearTap.records[0].link;
    assert.match(link, /^[\w-]{1,200}$/);
    for (const { at } of nearTap.records) {
      assert.ok(Number.isSafeInteger(at));
      assert.closeTo(at / 1_000, before, 5_000);
    }
    assert.deepEqual(
      nearTap.records.map(({ at, ...record }) => record),
      [
        { kind: "open", link, name: "near", transport: "port" },
        {
          kind: "message",
          link,
          direction: "sent",
          form: "value",
          text: '{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}',
        },
        { kind: "message", link, direction: "received", form: "value", text: '{"jsonrpc":"2.0","result":3,"id":1}' },
        { kind: "close", link, reason: "the transport was destroyed" },
      ],
    );
  });

  for (const coalesce of [false, true, "columns"])
    it(`with coalesce: ${coalesce} records 10 000 random messages in order, as they were sent and received`, async () => {
      const { nearTap, farTap, nearPeer, farPeer, crossed } = tappedPair({ coalesce });
      const random = randomOf(SEED);
      [nearPeer, farPeer].forEach(serveRandom);
      while (crossed.sent.length + crossed.received.length < 10_000)
        await Promise.all([randomCalls(nearPeer, random, 100), randomCalls(farPeer, random, 100)]);
      await assertSameMessages(nearTap, farTap, "from near to far");
      await assertSameMessages(farTap, nearTap, "from far to near");
      // Without coalescing, an array is a batch, which is one message.
      if (coalesce !== false) await assertRecorded(nearTap, crossed);
      assert.equal(nearTap.ofKind("gap").length + farTap.ofKind("gap").length, 0);
    }).timeout(60_000);

  it("records each message of an array or of columns; these records have the same group", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair({ coalesce: "columns" });
    farPeer.method("echo", ([n]) => n);
    await Promise.all([1, 2, 3].map((n) => nearPeer.request("echo", [n])));
    const sent = (await nearTap.untilMessages(6)).filter(({ direction }) => direction === "sent");
    assert.deepEqual(
      sent.map(({ text }) => JSON.parse(text).params),
      [[1], [2], [3]],
    );
    assert.equal(sent[0].group, undefined);
    assert.isNumber(sent[1].group);
    assert.equal(sent[2].group, sent[1].group);
  });

  it("records the same time for all messages of an array or of columns", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair({ coalesce: "columns" });
    farPeer.method("echo", ([n]) => n);
    await Promise.all(Array.from({ length: 200 }, (_, n) => nearPeer.request("echo", [n])));
    const times = new Map();
    for (const { group, at } of await nearTap.untilMessages(400))
      if (group !== undefined) times.set(group, (times.get(group) ?? new Set()).add(at));
    assert.isAtLeast(times.size, 2);
    for (const [group, { size }] of times) assert.equal(size, 1, `group ${group}`);
  });

  it("records a batch as one message, if the link does not coalesce", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair();
    farPeer.method("echo", ([n]) => n);
    await nearPeer.batch([
      { method: "echo", params: [1] },
      { method: "echo", params: [2] },
    ]);
    const messages = await nearTap.untilMessages(2);
    assert.deepEqual(
      messages.map(({ text, group }) => [JSON.parse(text).length, group]),
      [
        [2, undefined],
        [2, undefined],
      ],
    );
  });

  it("records the values at the time of the call, and the number of transferred objects", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair();
    farPeer.method("change", (params) => {
      params.list.push(2);
      return params.bytes.byteLength;
    });
    const params = { list: [1], bytes: new Uint8Array([1, 2, 3]) };
    const call = nearPeer.request("change", params, { transfer: [params.bytes.buffer] });
    params.list.push("changed");
    assert.equal(await call, 3);
    const [{ text, transfer }] = await nearTap.untilMessages(1, "sent");
    assert.deepEqual(JSON.parse(text).params, {
      list: [1],
      bytes: { $type: "Uint8Array", length: 3, bytes: "AQID" },
    });
    assert.equal(transfer, 1);
  });

  it("does not record a message that could not be sent", async () => {
    const { nearTap, nearPeer, farPeer } = tappedPair();
    farPeer.method("echo", (params) => params);
    await rejection(nearPeer.request("echo", [() => {}]));
    await nearPeer.request("echo", [1]);
    await nearTap.untilMessages(1, "received");
    assert.deepEqual(
      nearTap.texts("sent").map((text) => JSON.parse(text).params),
      [[1]],
    );
  });

  it("shares its link with all clients and servers on the boundary, and records all of their messages", async () => {
    const { port1, port2 } = new MessageChannel();
    const found = collected();
    const far = new JSONRPCPeer(portTransport(port2)).method("ask", ([n], { notify }) => notify("note", [n]));
    const notes = [];
    // This server exists before the tap.
    const server = new JSONRPCServer(portTransport(port1)).onNotify("note", ([n]) => void notes.push(n));
    const client = new JSONRPCClient(tap(portTransport(port1), { sink: found.recorder }));
    const other = new JSONRPCClient(portTransport(port1));
    afterThisTest(() => [far, server, client, other].forEach((one) => one.destroy()));
    await Promise.all([client.request("ask", [1]), other.request("ask", [2])]);
    assert.deepEqual(notes, [1, 2]);
    const ids = (await found.untilMessages(2, "sent")).map(({ text }) => JSON.parse(text).id);
    assert.deepEqual(ids, [1, 2]);
    assert.equal((await found.untilMessages(4, "received")).length, 4);
    client.destroy();
    await other.request("ask", [3]);
    await found.untilMessages(3, "sent");
    assert.equal(found.ofKind("close").length, 0);
  });

  it("that is tapped twice is recorded once by each recorder", async () => {
    const { near, far } = channel();
    const [one, two] = [collected(), collected()];
    for (const { recorder } of [one, two, one]) tap(near, { sink: recorder });
    const nearPeer = new JSONRPCPeer(tap(near, { sink: two.recorder }));
    const farPeer = new JSONRPCPeer(far).method("echo", (params) => params);
    afterThisTest(() => [nearPeer, farPeer].forEach((peer) => peer.destroy()));
    await nearPeer.request("echo", [1]);
    for (const found of [one, two]) {
      await found.untilMessages(2);
      assert.equal(found.messages().length, 2);
      assert.equal(found.ofKind("open").length, 1);
    }
    one.recorder.destroy();
    await nearPeer.request("echo", [2]);
    await two.untilMessages(4);
    assert.equal(one.messages().length, 2);
  });

  it("is not recorded after the recorder is destroyed, and the calls continue", async () => {
    const { near, far, port1 } = channel();
    const found = collected();
    const nearPeer = new JSONRPCPeer(tap(near, { sink: found.recorder }));
    const farPeer = new JSONRPCPeer(far).method("echo", (params) => params);
    afterThisTest(() => [nearPeer, farPeer].forEach((peer) => peer.destroy()));
    await nearPeer.request("echo", [1]);
    found.recorder.destroy();
    found.recorder.destroy();
    await until(() => found.ofKind("close").length === 1);
    const { length } = found.records;
    assert.deepEqual(found.records.at(-1).reason, "the tap was destroyed");
    assert.deepEqual(await nearPeer.request("echo", [2]), [2]);
    assert.equal(tap(portTransport(port1), { sink: found.recorder }).send.length, 2);
    assert.deepEqual(await nearPeer.request("echo", [3]), [3]);
    assert.equal(found.records.length, length);
  });
});

describe("a tapped transport of an application", () => {
  it("is recorded in both directions, even if it delivers synchronously", async () => {
    const { near, far } = loopback();
    const found = collected();
    const client = new JSONRPCClient(tap(near, { name: "mine", sink: found.recorder }));
    const server = new JSONRPCServer(far).method("echo", ([value]) => value);
    afterThisTest(() => [client, server].forEach((one) => one.destroy()));
    assert.equal(await client.request("echo", ["a"]), "a");
    const messages = await found.untilMessages(2);
    assert.deepEqual(
      messages.map(({ direction, text }) => [direction, JSON.parse(text).result ?? JSON.parse(text).method]),
      [
        ["sent", "echo"],
        ["received", "a"],
      ],
    );
    assert.equal(found.records[0].transport, "custom");
    client.destroy();
    assert.equal(near.destroyed, 1);
    await until(() => found.ofKind("close").length === 1);
  });

  it("records a value that is not a message as invalid", async () => {
    const transport = recordingTransport();
    const found = collected();
    const client = new JSONRPCClient(tap(transport, { sink: found.recorder }));
    afterThisTest(() => client.destroy());
    for (const value of [null, 5, "text", undefined]) transport.deliver(value);
    await until(() => found.ofKind("invalid").length === 4);
    assert.deepEqual(
      found.ofKind("invalid").map(({ text, reason, direction }) => [text, reason, direction]),
      ["null", "5", '"text"', '{"$type":"undefined"}'].map((text) => [
        text,
        "a message must be an object or an array",
        "received",
      ]),
    );
  });

  it("records the loss of the peer", async () => {
    let lose;
    const transport = { ...recordingTransport(), onClose: (handler) => void (lose = handler) };
    const found = collected();
    const client = new JSONRPCClient(tap(transport, { sink: found.recorder }));
    afterThisTest(() => client.destroy());
    const call = client.request("hang");
    lose(new Error("the cable is cut"));
    await rejection(call);
    await until(() => found.ofKind("close").length === 1);
    assert.equal(found.ofKind("close")[0].reason, "the cable is cut");
  });

  it("is restored when its recorder is destroyed", () => {
    const transport = loopback().near;
    const before = { ...transport };
    const found = collected();
    tap(transport, { sink: found.recorder });
    assert.notEqual(transport.send, before.send);
    found.recorder.destroy();
    assert.deepEqual({ ...transport }, before);
  });

  it("must be tapped before its first client, must not be frozen, and must be a transport", () => {
    const { near } = loopback();
    const client = new JSONRPCClient(near);
    afterThisTest(() => client.destroy());
    const sink = () => {};
    assert.throws(() => tap(near, { sink }), TypeError, "before a client or server uses it");
    assert.throws(() => tap(Object.freeze(loopback().far), { sink }), TypeError, "extensible");
    for (const wrong of [undefined, null, {}, { send() {} }])
      assert.throws(() => tap(wrong, { sink }), TypeError, "send and onMessage");
    assert.throws(() => tap(loopback().far, { sink: 5 }), TypeError, "sink must be");
  });

  it("that copies a transport of the library is recorded as a custom transport", async () => {
    const { near, far } = channel();
    const copy = { ...near };
    const found = collected();
    const client = new JSONRPCClient(tap(copy, { sink: found.recorder }));
    const server = new JSONRPCServer(far).method("echo", ([value]) => value);
    afterThisTest(() => [client, server].forEach((one) => one.destroy()));
    assert.equal(await client.request("echo", [1]), 1);
    await found.untilMessages(2);
    assert.equal(found.records[0].transport, "custom");
  });
});

describe("a tapped BroadcastChannel", () => {
  it('is recorded, with the transport "broadcast-channel"', async () => {
    const name = `tap ${Math.random()}`;
    const found = collected();
    const [near, far] = [broadcastTransport(name), broadcastTransport(name)];
    const server = new JSONRPCServer(far).method("echo", ([value]) => value);
    const client = new JSONRPCClient(tap(near, { sink: found.recorder }));
    afterThisTest(() => [client, server].forEach((one) => one.destroy()));
    assert.equal(await client.request("echo", [1]), 1);
    await found.untilMessages(2);
    assert.equal(found.records[0].transport, "broadcast-channel");
  });
});

describe("tapped sessions", () => {
  /** Connects two tapped peers. */
  async function tappedSessions(options) {
    const [near, far] = ports();
    const [nearTap, farTap] = [collected(LARGE), collected(LARGE)];
    const [nearPeer, farPeer] = await Promise.all([
      connected(near, { ...options, tap: sessionTap({ name: "near", sink: nearTap.recorder }) }),
      connected(far, { ...options, tap: sessionTap({ name: "far", sink: farTap.recorder }) }),
    ]);
    return { nearTap, farTap, nearPeer, farPeer };
  }

  it("record the handshake, the messages and the goodbye", async () => {
    const { nearTap, farTap, nearPeer, farPeer } = await tappedSessions();
    farPeer.method("echo", ([value]) => value);
    assert.equal(await nearPeer.request("echo", [1]), 1);
    nearPeer.destroy();
    await until(() => nearTap.ofKind("close").length === 1 && farTap.ofKind("close").length === 1);
    const methods = nearTap.messages().map(({ text }) => JSON.parse(text).method);
    for (const method of ["rpc.hello", "rpc.ping", "echo", "rpc.bye"]) assert.include(methods, method);
    assert.deepInclude(nearTap.records[0], { kind: "open", name: "near", transport: "session" });
    assert.equal(nearTap.records.at(-1).kind, "close");
    assert.equal(nearTap.ofKind("open").length, 1);
  });

  it("record 10 000 random messages in order, as they were sent and received", async () => {
    const { nearTap, farTap, nearPeer, farPeer } = await tappedSessions();
    const random = randomOf(SEED + 1);
    [nearPeer, farPeer].forEach(serveRandom);
    while (nearTap.messages().length < 10_000)
      await Promise.all([randomCalls(nearPeer, random, 100), randomCalls(farPeer, random, 100)]);
    await nearPeer.request("unknown").catch(() => {});
    await assertSameMessages(nearTap, farTap, "from near to far");
    await assertSameMessages(farTap, nearTap, "from far to near");
  }).timeout(60_000);

  it("have a record `open` and a record `close` for each session", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const found = collected();
    const connecting = connected(port, { tap: sessionTap({ sink: found.recorder }) });
    const end = await scriptedPeer.open();
    const peer = await connecting;
    end.bye("left");
    await until(() => found.ofKind("close").length === 1);
    const second = await reconnect(scriptedPeer);
    const call = peer.request("echo", [2]);
    second.answer(await second.nextCall(), "two");
    assert.equal(await call, "two");
    peer.destroy();
    await until(() => found.ofKind("close").length === 2);
    const kinds = found.records.map(({ kind }) => kind).filter((kind) => kind !== "message");
    assert.deepEqual(kinds, ["open", "close", "open", "close"]);
    assert.equal(new Set(found.records.map(({ link }) => link)).size, 1);
  });

  it("record the messages of a peer without sessions", async () => {
    const [near, far] = ports();
    const found = collected();
    const server = new JSONRPCServer(portTransport(far)).method("echo", ([value]) => value);
    const peer = await connected(near, { tap: sessionTap({ sink: found.recorder }) });
    afterThisTest(() => server.destroy());
    assert.equal(await peer.request("echo", [1]), 1);
    // The handshake repeats its messages, so the number of the messages before the request is unknown.
    await until(() => found.texts("received").some((text) => JSON.parse(text).result === 1));
    assert.ok(found.texts("sent").some((text) => JSON.parse(text).method === "echo"));
  });

  it("do not record the messages of another channel on the target", async () => {
    const [near, far] = ports();
    const found = collected();
    const peers = await Promise.all([
      connected(near, { channel: "a", tap: sessionTap({ sink: found.recorder }) }),
      connected(far, { channel: "a" }),
      connected(near, { channel: "b" }),
      connected(far, { channel: "b", methods: { echo: (params) => params } }),
    ]);
    await peers[2].request("echo", ["secret"]);
    await peers[0].request("missing").catch(() => {});
    await found.untilMessages(3);
    const texts = found.texts().join();
    assert.notInclude(texts, "secret");
    assert.notInclude(texts, '"channel":"b"');
  });

  it("record an attempt to connect that fails, and the end of this attempt", async () => {
    const [near] = ports();
    const found = collected();
    const error = await rejection(connect(near, { connectTimeout: 50, tap: sessionTap({ sink: found.recorder }) }));
    assert.equal(error.reason, "no-answer");
    await until(() => found.ofKind("close").length === 1);
    assert.equal(JSON.parse(found.texts("sent")[0]).method, "rpc.hello");
  });

  it("continue when the recorder is destroyed, and are not recorded any more", async () => {
    const { nearTap, nearPeer, farPeer } = await tappedSessions();
    farPeer.method("echo", ([value]) => value);
    await nearPeer.request("echo", [1]);
    nearTap.recorder.destroy();
    await until(() => nearTap.ofKind("close").length === 1);
    const { length } = nearTap.records;
    assert.equal(await nearPeer.request("echo", [randomValue(randomOf(1), 0)]).then(() => "answered"), "answered");
    assert.equal(nearTap.records.length, length);
  });
});
