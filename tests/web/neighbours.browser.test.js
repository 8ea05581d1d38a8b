// Neighbours that want to be taken for the other side: frames and windows of any origin, and scripts in the page that can do
// no more than post messages and dispatch events.
//
// A script that runs in the page can as well replace `MessagePort.prototype.postMessage`, or speak to the frame as the page,
// which it is. Nothing that shares its realm is safe from it, and nothing of that is tested here.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport } from "./rig/portway.js";
import { frame, origins } from "./rig/frames.js";
import { connected, diary } from "./rig/connections.js";
import { afterThisTest } from "./rig/cleanup.js";
import { deferred, isOpen, until } from "./rig/outcomes.js";
import { arsenal } from "./fixtures/arsenal.js";
import "./fixtures/witness.js";

/** The messages that this window gets, as others on it see them. */
function overheard() {
  const events = [];
  const listener = (event) => events.push(event);
  addEventListener("message", listener);
  afterThisTest(() => removeEventListener("message", listener));
  return {
    events,
    /** Those that are about calls or connections. */
    get messages() {
      return events
        .map(({ data }) => data)
        .filter((data) => data?.jsonrpc !== undefined || data?.portway !== undefined || Array.isArray(data));
    },
  };
}

/** Ports cannot be sent twice: a message as it can be. */
const again = (messages) => messages.filter((message) => message.result?.port === undefined);

const said = (seen, source, type) =>
  until(() => seen.events.some((event) => event.source === source && event.data?.type === type), `no ${type}`);

/** A frame with a neighbour, and a peer that talks to it; calls wait on both sides. */
async function victims({ link, kind, late }) {
  const { options, frameOptions, query } = kind;
  const seen = overheard();
  const all = { ...query, ...(link === "connect" ? { connect: "" } : {}), ...(late === undefined ? {} : { late }) };
  const element = await frame("victim.html", { ...frameOptions, query: all });
  const record = diary(options);
  const waiting = deferred();
  const handlers = (peer) =>
    peer
      .method("wait", () => waiting.promise)
      .method("secret", () => void record.told.push("secret"))
      .onNotify("note", () => void record.told.push("note"));
  const connecting = link === "connect" ? connected(element, record) : undefined;
  const ready = async () => {
    let peer = await connecting;
    if (peer === undefined) {
      await said(seen, element.contentWindow, "serving");
      peer = new JSONRPCPeer(windowTransport(element.contentWindow, options));
      afterThisTest(() => peer.destroy());
    }
    handlers(peer);
    const hanging = peer.request("hang", [], { timeout: 0, onProgress: () => record.told.push("progress") });
    hanging.catch(() => {});
    await peer.request("call");
    return { peer, hanging };
  };
  return {
    element,
    seen,
    told: record.told,
    waiting,
    connecting,
    ready,
    number: Array.from(frames).indexOf(element.contentWindow),
  };
}

/** Has a neighbour attack this page, or a frame of it; gives what it has got for it. */
async function attack(neighbour, seen, number) {
  const before = seen.events.length;
  neighbour.postMessage({ type: "attack", seen: again(seen.messages), frame: number }, "*");
  const isReport = ({ source, data }) => source === neighbour && data?.type === "attacked";
  await until(() => seen.events.slice(before).some(isReport), "the attack does not end");
  return seen.events.slice(before).find(isReport).data;
}

/** Nothing has come of it, on either side. */
async function assertUnharmed({ peer, hanging }, { told, waiting }, link) {
  const before = link === "connect" ? [1] : [];
  assert.isTrue(await isOpen(hanging), "the call of the page has ended");
  waiting.resolve("right");
  assert.equal(await peer.request("called"), "right");
  assert.deepEqual((await peer.request("told")).told, before, "in the frame");
  assert.deepEqual(told, before, "in the page");
}

const kinds = {
  "of the page's origin": { options: undefined, frameOptions: {}, query: {} },
  "of another origin": {
    options: { origin: origins.other },
    frameOptions: { origin: origins.other },
    query: { origin: origins.own },
  },
  "without an origin": {
    options: { origin: "null" },
    frameOptions: { sandbox: "allow-scripts" },
    query: { origin: origins.own },
  },
};

const neighbours = {
  "a frame of the page's origin": { origin: origins.own },
  "a frame of another origin": { origin: origins.other },
  "a frame of an origin that looks alike": { origin: origins.neighbour },
  "a frame without an origin": { sandbox: "allow-scripts" },
};

async function neighbouringFrame(options) {
  return (await frame("neighbour.html", options)).contentWindow;
}

/** A window of an origin that looks alike; null where none is opened. */
function neighbouringWindow() {
  const opened = open(`${origins.neighbour}/tests/web/fixtures/neighbour.html`, "_blank", "width=200,height=200");
  afterThisTest(() => opened?.close());
  return opened;
}

// WebKit opens none here.
const probe = open("about:blank", "_blank", "width=200,height=200");
probe?.close();

/** Firefox takes no window without an origin for a source: it goes without one there. */
function forged(members) {
  try {
    return new MessageEvent("message", members);
  } catch {
    return new MessageEvent("message", { ...members, source: null });
  }
}

for (const link of ["windowTransport", "connect"]) {
  for (const [name, kind] of Object.entries(kinds)) {
    describe(`${link} to a frame ${name}`, () => {
      for (const [who, options] of Object.entries(neighbours)) {
        it(`is safe from ${who}`, async () => {
          const victim = await victims({ link, kind });
          const neighbour = await neighbouringFrame(options);
          const pair = await victim.ready();
          const { witnessed } = await pair.peer.request("told");
          const reports = [await attack(neighbour, victim.seen), await attack(neighbour, victim.seen, victim.number)];
          await assertUnharmed(pair, victim, link);
          for (const { got, ports } of reports) {
            assert.deepEqual(got, [], "the neighbour has got something");
            assert.isAbove(ports, 0);
          }
          // Others on both windows have seen all of it.
          const count = arsenal([], () => {}).length;
          const posted = victim.seen.events.filter(({ source }) => source === neighbour);
          assert.isAtLeast(posted.length, count);
          assert.isAtLeast((await pair.peer.request("told")).witnessed - witnessed, count);
        });
      }

      if (probe !== null) {
        it("is safe from a window of an origin that looks alike", async () => {
          const victim = await victims({ link, kind });
          const neighbour = neighbouringWindow();
          await said(victim.seen, neighbour, "ready");
          const pair = await victim.ready();
          const reports = [await attack(neighbour, victim.seen), await attack(neighbour, victim.seen, victim.number)];
          await assertUnharmed(pair, victim, link);
          for (const { got } of reports) assert.deepEqual(got, []);
        });
      }

      it("is safe from what a script in the page posts to the page itself", async () => {
        const victim = await victims({ link, kind });
        const pair = await victim.ready();
        const got = [];
        const onPort = (port) => {
          afterThisTest(() => port.close());
          port.onmessage = ({ data }) => got.push(data);
        };
        const all = arsenal(again(victim.seen.messages), onPort);
        const before = victim.seen.messages.length;
        for (const [message, transfer] of all) window.postMessage(message, "*", transfer);
        await until(() => victim.seen.messages.length >= before + all.length, "not all of it is seen");
        await assertUnharmed(pair, victim, link);
        assert.deepEqual(got, []);
      });

      it("is safe from events that a script has made, whoever they say they are from", async () => {
        const victim = await victims({ link, kind });
        const pair = await victim.ready();
        const got = [];
        const onPort = (port) => {
          afterThisTest(() => port.close());
          port.onmessage = ({ data }) => got.push(data);
        };
        const source = victim.element.contentWindow;
        const genuine = victim.seen.events.find((event) => event.source === source);
        for (const from of [source, null, window]) {
          for (const [data, ports] of arsenal(again(victim.seen.messages), onPort)) {
            window.dispatchEvent(forged({ data, ports, origin: genuine.origin, source: from }));
          }
        }
        // An event that was trusted is not when it is dispatched again.
        window.dispatchEvent(genuine);
        await assertUnharmed(pair, victim, link);
        assert.deepEqual(got, []);
      });

      it("is safe from a frame that a script makes, and that is gone when its messages arrive", async () => {
        const victim = await victims({ link, kind });
        const pair = await victim.ready();
        const all = arsenal(again(victim.seen.messages), () => {});
        const before = victim.seen.messages.length;
        const sandbox = kind.frameOptions.sandbox;
        const text = JSON.stringify(all.filter(([, transfer]) => transfer.length === 0).map(([message]) => message));
        const messages = JSON.parse(text);
        const element = document.createElement("iframe");
        if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
        const script = `for (const message of ${text}) parent.postMessage(message, "*"); parent.postMessage({ type: "posted" }, "*")`;
        // At once, and once more as it goes.
        element.srcdoc = `<script>onpagehide = () => { ${script} }; ${script}</script>`;
        document.body.append(element);
        afterThisTest(() => element.remove());
        await until(() => victim.seen.events.some(({ data }) => data?.type === "posted"));
        element.remove();
        await until(() => victim.seen.messages.length >= before + messages.length);
        await assertUnharmed(pair, victim, link);
      });
    });
  }
}

describe("connecting", () => {
  for (const [name, kind] of Object.entries(kinds)) {
    it(`to a slow frame ${name} is safe from all neighbours`, async () => {
      const victim = await victims({ link: "connect", kind, late: 1_000 });
      const hostile = await Promise.all(Object.values(neighbours).map(neighbouringFrame));
      const reports = [];
      for (const neighbour of hostile) {
        reports.push(await attack(neighbour, victim.seen), await attack(neighbour, victim.seen, victim.number));
      }
      for (const [message, transfer] of arsenal(again(victim.seen.messages), () => {}))
        window.postMessage(message, "*", transfer);
      const pair = await victim.ready();
      await assertUnharmed(pair, victim, "connect");
      for (const { got } of reports) assert.deepEqual(got, []);
    });
  }
});
