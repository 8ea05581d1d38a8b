// Tests windows that pretend to be the peer: iframes beside and inside the peer, the embedding page, and other
// documents in the iframe of the peer. The page that runs the tests is the host. The host allows the origin of a
// friend, and does not allow the origin of a stranger.

import { assert } from "chai";
import { afterThisTest } from "../web/support/cleanup.js";
import { isPending, pause, rejection, until } from "../web/support/outcomes.js";
import { connect } from "../web/support/portway.js";
import { engine, origins, party } from "./support/parties.js";
import { inFull } from "./support/settings.js";

/** Connects to an iframe. `events` records the calls of the handlers and listeners. */
function connectRecorded(frame, options) {
  const events = [];
  const peer = connect(frame.element, {
    connectTimeout: 30_000,
    onSession: ({ number, origin }) => void events.push({ session: number, origin }),
    onLost: ({ reason }) => void events.push({ lost: reason }),
    onError: () => {},
    methods: {
      echo: (params) => params,
      secret: (params) => (events.push({ secret: params }), "the secret"),
    },
    ...options,
  });
  // Each test checks the outcome of `peer` later.
  peer.catch(() => {});
  afterThisTest(
    () =>
      void peer.then(
        (peer) => peer.destroy(),
        () => {},
      ),
  );
  return { peer, events };
}

/** Connects the host to a friend in an iframe. `overheard` has the ids that the window of the host received. */
async function connectedFriend({ sandbox } = {}) {
  const friend = await party("friend", { sandbox });
  const origin = sandbox === undefined ? origins.friend : "null";
  const overheard = [];
  const listen = ({ data }) => overheard.push(data?.id, data?.result?.session);
  addEventListener("message", listen);
  const { peer: connecting, events } = connectRecorded(friend, { origin });
  const connected = friend.run((origin) => connectTo(parent, { origin }), origins.host);
  const [peer] = await Promise.all([connecting, connected]);
  removeEventListener("message", listen);
  return { friend, peer, events, overheard: overheard.filter((id) => typeof id === "string") };
}

/** Checks that the host and the friend answer calls, and that they are still in their first session. */
async function assertUnharmed({ friend, peer, events }) {
  assert.deepEqual(await peer.request("echo", ["to the friend"]), ["to the friend"]);
  assert.deepEqual(await friend.run(() => peer.request("echo", ["to the host"])), ["to the host"]);
  assert.deepEqual(
    events.map((event) => Object.keys(event)[0]),
    ["session"],
  );
  assert.deepEqual(await friend.run(() => events.map((event) => Object.keys(event)[0])), ["session"]);
}

const assertNothingReceived = async (stranger) =>
  assert.deepEqual(await stranger.received(), [], "a stranger must receive nothing");
/** Waits for more than 1 s, the time after which a goodbye over the window ends a session. */
const settled = () => pause(1_300);

describe("forged messages", function () {
  this.timeout(30_000);

  for (const sandbox of [undefined, "allow-scripts"]) {
    const suffix = sandbox === undefined ? "" : ', even if both iframes have the origin "null"';
    it(`of an iframe beside the peer have no effect on the session${suffix}`, async () => {
      const pair = await connectedFriend({ sandbox });
      const stranger = await party("stranger", { sandbox });
      // The friend has no method with this name.
      const call = pair.peer.request("never", [], { timeout: 0 });
      const answered = call.catch(({ code }) => code);
      assert.equal(await answered, -32601);
      const index = Array.from(frames).indexOf(pair.friend.window);
      await stranger.run(
        (index, overheard) => forge(parent, overheard) + forge(parent.frames[index], overheard),
        index,
        pair.overheard,
      );
      await settled();
      await assertUnharmed(pair);
      await assertNothingReceived(stranger);
    });
  }

  it("of an embedding page of another origin begin no session with the peer, and are not answered", async () => {
    const stranger = await party("stranger");
    const friend = await stranger.addIframe("friend");
    const connecting = friend.run(
      (origin) => connectTo(parent, { origin, connectTimeout: 3_000 }).catch(({ reason }) => reason),
      origins.host,
    );
    await pause(300);
    await stranger.run(() => forge(frames[0]));
    assert.include(["no-answer", "wrong-origin"], await connecting);
    assert.deepEqual(await friend.run(() => events), []);
    await assertNothingReceived(stranger);
  });

  // The driver of WebKit does not let scripts open a window.
  if (engine !== "webkit") {
    it("of an opener of another origin begin no session with the peer, and are not answered", async () => {
      const stranger = await party("stranger");
      const friend = await stranger.openPopup("friend");
      const connecting = friend.run(
        (origin) => connectTo(opener, { origin, connectTimeout: 3_000 }).catch(({ reason }) => reason),
        origins.host,
      );
      await pause(300);
      await stranger.run(() => forge(popup));
      assert.include(["no-answer", "wrong-origin"], await connecting);
      assert.deepEqual(await friend.run(() => events), []);
      await assertNothingReceived(stranger);
    });
  }

  it("of an iframe inside the peer have no effect on the session", async () => {
    const pair = await connectedFriend();
    const stranger = await pair.friend.addIframe("stranger");
    await stranger.run((overheard) => forge(parent, overheard) + forge(top, overheard), pair.overheard);
    await settled();
    await assertUnharmed(pair);
    await assertNothingReceived(stranger);
  });

  it("that a third window relays between two peers begin no session", async () => {
    const relay = await party("stranger");
    const friend = await relay.addIframe("friend");
    await relay.run(() => {
      globalThis.relayed = 0;
      addEventListener("message", ({ data, source, ports }) => {
        if (data?.type === "control port") return;
        relayed++;
        (source === parent ? frames[0] : parent).postMessage(data, "*", [...ports]);
      });
    });
    const { peer, events } = connectRecorded(relay, { origin: origins.friend, connectTimeout: 3_000 });
    const friendOutcome = friend.run(
      (origin) => connectTo(parent, { origin, connectTimeout: 3_000 }).catch(({ reason }) => reason),
      origins.host,
    );
    // The relay also sends its own hello.
    await relay.run(() =>
      parent.postMessage(
        message({ id: hexId("a"), method: "rpc.hello", params: { version: 1, channel: "", features: [] } }),
        "*",
      ),
    );
    assert.include(["no-answer", "wrong-origin"], (await rejection(peer)).reason);
    assert.include(["no-answer", "wrong-origin"], await friendOutcome);
    assert.deepEqual(events, []);
    assert.deepEqual(await friend.run(() => events), []);
    assert.equal(await relay.run(() => relayed), 0);
  });

  it("with a wrong key cannot end a session, even if they have no source because their window was removed", async () => {
    const pair = await connectedFriend();
    const stranger = await party("stranger");
    const inner = await stranger.addIframe("stranger");
    await inner.run((overheard) => {
      const postGoodbyes = (key) => {
        for (const reason of ["closed", "left", "replaced"])
          top.postMessage(message({ method: "rpc.bye", params: { reason, key } }), "*");
        top.postMessage(message({ method: "rpc.key", params: { key } }), "*");
      };
      const attack = () => {
        for (const key of [...overheard, hexId("0"), "", null, undefined]) postGoodbyes(key);
        top.postMessage(
          message({ method: "rpc.hello", id: hexId("f"), params: { version: 1, channel: "", features: [] } }),
          "*",
        );
        top.postMessage(message({ method: "secret", id: 1 }), "*");
      };
      for (const event of ["pagehide", "unload"]) addEventListener(event, attack);
    }, pair.overheard);
    const sources = [];
    const record = ({ data, source }) => data?.method === "rpc.bye" && sources.push(source);
    addEventListener("message", record);
    afterThisTest(() => removeEventListener("message", record));
    await stranger.run(() => document.querySelector("iframe").remove());
    await pause(200);
    stranger.element.remove();
    await settled();
    await assertUnharmed(pair);
    assert.isAbove(sources.length, 0, "the goodbyes of the removed window must arrive");
    // In Firefox, a message of a removed window still has a source.
    if (engine !== "firefox") assert.isTrue(sources.every((source) => source === null));
  });

  it("that answer an old hello again, with new ports, begin no session, and the ports receive nothing", async () => {
    const evil = await party("friend");
    const { peer: connecting, events } = connectRecorded(evil, { origin: origins.friend });
    const hello = await evil.run(() => answerHello(parent));
    await connecting;
    const replay = (hello) => {
      for (let n = 0; n < 100; n++) {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => keep(data);
        parent.postMessage(
          message({ id: hello.id, result: { session: hexId("e"), version: 1, features: [], port: port2 } }),
          "*",
          [port2],
        );
        port1.postMessage(message({ id: 1, method: "secret", params: ["replayed"] }));
      }
      // The host also receives its own hello as an echo.
      parent.postMessage(hello, "*");
    };
    await evil.run(replay, hello);
    await pause(500);
    assert.deepEqual(
      events.filter((event) => "secret" in event),
      [],
    );
    assert.lengthOf(events, 1);
    assert.deepEqual(
      (await evil.received()).filter(({ method }) => method !== "rpc.hello"),
      [],
    );
    // The id of the old hello is also invalid in messages of the next document.
    const next = await evil.load("friend");
    await next.run(replay, hello);
    await next.run((origin) => connectTo(parent, { origin }), origins.host);
    await until(() => events.at(-1).session === 2, "the next document must get a session");
    assert.deepEqual(
      events.filter((event) => "secret" in event),
      [],
    );
    assert.deepEqual(
      (await next.received()).filter((one) => one?.params?.[0] === "replayed" || one?.id === 1),
      [],
    );
  });

  it("that answer a hello with -32601 are ignored if a stranger sends them, or if a session has begun", async () => {
    const friend = await party("friend");
    const stranger = await party("stranger");
    const { peer: connecting, events } = connectRecorded(friend, { origin: origins.friend });
    const { hello } = await friend.run(() => nextHello(parent));
    await stranger.run((id) => {
      for (let n = 0; n < 50; n++)
        parent.postMessage(message({ id, error: { code: -32601, message: "Method not found" } }), "*");
      parent.postMessage(message({ id: 1, method: "secret", params: ["downgraded"] }), "*");
    }, hello.id);
    await pause(200);
    assert.deepEqual(events, []);
    await friend.run((origin) => connectTo(parent, { origin }), origins.host);
    await connecting;
    // During a session, the error -32601 for the hello of this session must not turn the session into a plain
    // session.
    await friend.run((id) => {
      parent.postMessage(message({ id, error: { code: -32601, message: "Method not found" } }), "*");
      parent.postMessage(message({ id: 1, method: "secret", params: ["downgraded"] }), "*");
    }, hello.id);
    await pause(200);
    assert.deepEqual(
      events.map((event) => Object.keys(event)[0]),
      ["session"],
    );
  });

  it("that offer a lane to a window begin no session", async () => {
    const evil = await party("friend");
    const { peer: connecting, events } = connectRecorded(evil, { origin: origins.friend, connectTimeout: 2_000 });
    await evil.run(async () => {
      const { hello } = await nextHello(parent);
      const lane = hexId("b");
      parent.postMessage(
        message({ id: hello.id, result: { session: hexId("0"), version: 1, features: ["lane"], lane } }),
        "*",
      );
      parent.postMessage({ portway: lane, message: message({ id: 1, method: "secret" }) }, "*");
    });
    await rejection(connecting);
    assert.deepEqual(events, []);
  });

  it("with a wrong key or a wrong lock do not end the session", async () => {
    const evil = await party("friend");
    const { peer: connecting, events } = connectRecorded(evil, { origin: origins.friend });
    await evil.run(() => answerHello(parent));
    const peer = await connecting;
    await evil.run(() => {
      const bye = (key) => parent.postMessage(message({ method: "rpc.bye", params: { reason: "closed", key } }), "*");
      // The peer has sent no key yet. A goodbye without a key must not match the missing key.
      bye(undefined);
      for (const key of [null, 5, {}, "", hexId("c")]) {
        session.port.postMessage(message({ method: "rpc.key", params: { key } }));
        bye(`${key}0`);
      }
      session.port.postMessage(message({ method: "rpc.key" }));
      session.port.postMessage(message({ method: "rpc.lock" }));
      session.port.postMessage(message({ method: "rpc.lock", params: { id: hexId("d") } }));
    });
    await settled();
    assert.deepEqual(
      events.map((event) => Object.keys(event)[0]),
      ["session"],
    );
    assert.isTrue(await isPending(peer.request("any", [], { timeout: 0 })));
  });
});

describe("a host that posts messages each millisecond to an iframe that navigates between origins", function () {
  this.timeout(120_000);

  it("sends nothing to a document of a foreign origin, and serves no call of such a document", async () => {
    const friend = await party("friend");
    const { peer: connecting, events } = connectRecorded(friend, { origin: origins.friend });
    await friend.run((origin) => connectTo(parent, { origin }), origins.host);
    const peer = await connecting;
    const timer = setInterval(() => {
      try {
        peer.notify("tell", { secret: true });
        peer.request("echo", ["secret"], { timeout: 500 }).catch(() => {});
      } catch {
        // Too many calls are pending, or `peer` accepts no calls before its next session with the friend.
      }
    }, 1);
    afterThisTest(() => clearInterval(timer));
    let frame = friend;
    for (let round = 0; round < (inFull ? 30 : 6); round++) {
      frame = await frame.load("stranger");
      await frame.run(() => {
        parent.postMessage(message({ id: 7, method: "secret", params: ["stranger"] }), "*");
        forge(parent);
      });
      await pause(150);
      assert.deepEqual(await frame.received(), [], `the stranger has received something in round ${round}`);
      frame = await frame.load("friend");
      // In two of three rounds, the next navigation interrupts this handshake, at a different moment in each round.
      const connected = frame.run((origin) => connectTo(parent, { origin }), origins.host).catch(() => {});
      if (round % 3 === 0) await connected;
      else await pause(round * 7);
    }
    assert.deepEqual(
      events.filter((event) => "secret" in event),
      [],
    );
    // At the end, the host must serve the friend over a new connection. The first connection is destroyed, because two
    // connections on one iframe may replace each other.
    clearInterval(timer);
    peer.destroy();
    frame = await frame.load("friend");
    const { peer: last, events: lastEvents } = connectRecorded(frame, { origin: origins.friend });
    await frame.run((origin) => connectTo(parent, { origin }), origins.host);
    assert.deepEqual(await (await last).request("echo", [1]), [1]);
    assert.deepEqual(
      lastEvents.filter((event) => "secret" in event),
      [],
    );
  });

  it("sends each document only the messages for the origin of this document, if two origins are allowed", async () => {
    let frame = await party("friend");
    let current;
    const { peer: connecting, events } = connectRecorded(frame, {
      origin: [origins.friend, origins.third],
      onSession: ({ origin }) => void (current = origin),
      onLost: () => void (current = undefined),
    });
    await frame.run((origin) => connectTo(parent, { origin }), origins.host);
    const peer = await connecting;
    const timer = setInterval(() => {
      // Without a session, the message would be queued for the next document.
      if (current !== undefined) peer.notify("tell", { for: current });
    }, 1);
    afterThisTest(() => clearInterval(timer));
    for (let round = 0; round < (inFull ? 30 : 6); round++) {
      const name = round % 2 === 0 ? "third" : "friend";
      frame = await frame.load(name);
      await frame.run((origin) => connectTo(parent, { origin }), origins.host);
      await pause(60);
      const notified = (await frame.run(() => events)).filter((event) => "notified" in event);
      const foreign = notified.filter((event) => event.notified.for !== origins[name]);
      assert.deepEqual(foreign, [], `in round ${round}, the document of ${name} received a message for another origin`);
    }
    assert.deepEqual(
      events.filter((event) => "secret" in event),
      [],
    );
  });
});
