// Attackers that imitate the peer: iframes and windows of any origin, and scripts in the page that only post messages
// and dispatch events. A script in the page can also replace `MessagePort.prototype.postMessage`, or post to the iframe
// as the page. Code in the same realm is not protected from such a script, so the tests contain no such script.

import { assert } from "chai";
import { JSONRPCPeer, windowTransport } from "./support/portway.js";
import { openIframe, origins } from "./support/iframes.js";
import { connected, recordSessions } from "./support/connections.js";
import { afterThisTest } from "./support/cleanup.js";
import { deferred, isPending, until } from "./support/outcomes.js";
import { hostileMessages } from "./fixtures/hostile-messages.js";
import "./fixtures/message-counter.js";

/** Records all messages that this window receives. The listeners of the library also receive these messages. */
function recordMessages() {
  const events = [];
  const listener = (event) => events.push(event);
  addEventListener("message", listener);
  afterThisTest(() => removeEventListener("message", listener));
  return {
    events,
    /** The messages that look like JSON-RPC or belong to the library. */
    get messages() {
      return events
        .map(({ data }) => data)
        .filter((data) => data?.jsonrpc !== undefined || data?.portway !== undefined || Array.isArray(data));
    },
  };
}

/** Omits the messages that contain a port, because a port cannot be sent twice. */
const withoutPorts = (messages) => messages.filter((message) => message.result?.port === undefined);

const untilMessage = (seen, source, type) =>
  until(() => seen.events.some((event) => event.source === source && event.data?.type === type), `no ${type}`);

/**
 * Opens an iframe with a peer. `ready` creates the peer of this page, and starts one call in each direction. Both calls
 * stay pending.
 */
async function openAttackedIframe({ link, kind, late }) {
  const { options, iframeOptions, query } = kind;
  const seen = recordMessages();
  const fullQuery = {
    ...query,
    ...(link === "connect" ? { connect: "" } : {}),
    ...(late === undefined ? {} : { late }),
  };
  const element = await openIframe("attacked-iframe.html", { ...iframeOptions, query: fullQuery });
  const record = recordSessions(options);
  const waiting = deferred();
  const addHandlers = (peer) =>
    peer
      .method("wait", () => waiting.promise)
      .method("secret", () => void record.events.push("secret"))
      .onNotify("note", () => void record.events.push("note"));
  const connecting = link === "connect" ? connected(element, record) : undefined;
  const ready = async () => {
    let peer = await connecting;
    if (peer === undefined) {
      await untilMessage(seen, element.contentWindow, "serving");
      peer = new JSONRPCPeer(windowTransport(element.contentWindow, options));
      afterThisTest(() => peer.destroy());
    }
    addHandlers(peer);
    const hanging = peer.request("hang", [], { timeout: 0, onProgress: () => record.events.push("progress") });
    hanging.catch(() => {});
    await peer.request("call");
    return { peer, hanging };
  };
  return {
    element,
    seen,
    events: record.events,
    waiting,
    connecting,
    ready,
    index: Array.from(frames).indexOf(element.contentWindow),
  };
}

/**
 * Makes a hostile iframe attack this page, or the iframe with this index. Returns the report of the attacker: the
 * messages that it received, and the number of ports that it posted.
 */
async function attack(hostile, seen, index) {
  const before = seen.events.length;
  hostile.postMessage({ type: "attack", seen: withoutPorts(seen.messages), frame: index }, "*");
  const isReport = ({ source, data }) => source === hostile && data?.type === "attacked";
  await until(() => seen.events.slice(before).some(isReport), "the attack did not end");
  return seen.events.slice(before).find(isReport).data;
}

/** Asserts that the attack had no effect on either peer. */
async function assertUnharmed({ peer, hanging }, { events, waiting }, link) {
  const expected = link === "connect" ? [1] : [];
  assert.isTrue(await isPending(hanging), "the call of the page has ended");
  waiting.resolve("right");
  assert.equal(await peer.request("called"), "right");
  assert.deepEqual((await peer.request("observed")).events, expected, "events in the iframe");
  assert.deepEqual(events, expected, "events in the page");
}

const targets = {
  "of the page's origin": { options: undefined, iframeOptions: {}, query: {} },
  "of another origin": {
    options: { origin: origins.other },
    iframeOptions: { origin: origins.other },
    query: { origin: origins.own },
  },
  "without an origin": {
    options: { origin: "null" },
    iframeOptions: { sandbox: "allow-scripts" },
    query: { origin: origins.own },
  },
};

const hostileIframes = {
  "an iframe of the page's origin": { origin: origins.own },
  "an iframe of another origin": { origin: origins.other },
  "an iframe of another port": { origin: origins.otherPort },
  "an iframe without an origin": { sandbox: "allow-scripts" },
};

async function openHostileIframe(options) {
  return (await openIframe("hostile-iframe.html", options)).contentWindow;
}

/** Opens a window of another port. Returns null if the browser opens no windows. */
function openHostileWindow() {
  const opened = open(`${origins.otherPort}/tests/web/fixtures/hostile-iframe.html`, "_blank", "width=200,height=200");
  afterThisTest(() => opened?.close());
  return opened;
}

// WebKit opens no windows under its driver. There, `probe` is null.
const probe = open("about:blank", "_blank", "width=200,height=200");
probe?.close();

/**
 * Returns an event as a script can create it. Firefox does not accept a window without an origin as the source, so such
 * an event has no source.
 */
function forgedEvent(members) {
  try {
    return new MessageEvent("message", members);
  } catch {
    return new MessageEvent("message", { ...members, source: null });
  }
}

for (const link of ["windowTransport", "connect"]) {
  for (const [name, kind] of Object.entries(targets)) {
    describe(`${link} to an iframe ${name}`, () => {
      for (const [attacker, options] of Object.entries(hostileIframes)) {
        it(`is safe from ${attacker}`, async () => {
          const attacked = await openAttackedIframe({ link, kind });
          const hostile = await openHostileIframe(options);
          const connection = await attacked.ready();
          const { messageCount } = await connection.peer.request("observed");
          const reports = [await attack(hostile, attacked.seen), await attack(hostile, attacked.seen, attacked.index)];
          await assertUnharmed(connection, attacked, link);
          for (const { received, ports } of reports) {
            assert.deepEqual(received, [], "the attacker received messages");
            assert.isAbove(ports, 0);
          }
          // Other listeners on both windows have received all messages of the attack.
          const count = hostileMessages([], () => {}).length;
          const posted = attacked.seen.events.filter(({ source }) => source === hostile);
          assert.isAtLeast(posted.length, count);
          assert.isAtLeast((await connection.peer.request("observed")).messageCount - messageCount, count);
        });
      }

      if (probe !== null) {
        it("is safe from a window of another port", async () => {
          const attacked = await openAttackedIframe({ link, kind });
          const hostile = openHostileWindow();
          await untilMessage(attacked.seen, hostile, "ready");
          const connection = await attacked.ready();
          const reports = [await attack(hostile, attacked.seen), await attack(hostile, attacked.seen, attacked.index)];
          await assertUnharmed(connection, attacked, link);
          for (const { received } of reports) assert.deepEqual(received, []);
        });
      }

      it("is safe from messages that a script in the page posts to the page itself", async () => {
        const attacked = await openAttackedIframe({ link, kind });
        const connection = await attacked.ready();
        const received = [];
        const onPort = (port) => {
          afterThisTest(() => port.close());
          port.onmessage = ({ data }) => received.push(data);
        };
        const all = hostileMessages(withoutPorts(attacked.seen.messages), onPort);
        const before = attacked.seen.messages.length;
        for (const [message, transfer] of all) window.postMessage(message, "*", transfer);
        await until(() => attacked.seen.messages.length >= before + all.length, "some messages are missing");
        await assertUnharmed(connection, attacked, link);
        assert.deepEqual(received, []);
      });

      it("is safe from events that a script creates with any source", async () => {
        const attacked = await openAttackedIframe({ link, kind });
        const connection = await attacked.ready();
        const received = [];
        const onPort = (port) => {
          afterThisTest(() => port.close());
          port.onmessage = ({ data }) => received.push(data);
        };
        const source = attacked.element.contentWindow;
        const genuine = attacked.seen.events.find((event) => event.source === source);
        for (const forgedSource of [source, null, window]) {
          for (const [data, ports] of hostileMessages(withoutPorts(attacked.seen.messages), onPort)) {
            window.dispatchEvent(forgedEvent({ data, ports, origin: genuine.origin, source: forgedSource }));
          }
        }
        // An event is no longer trusted when a script dispatches it again.
        window.dispatchEvent(genuine);
        await assertUnharmed(connection, attacked, link);
        assert.deepEqual(received, []);
      });

      it("is safe from the messages of an iframe that a script removes before the messages arrive", async () => {
        const attacked = await openAttackedIframe({ link, kind });
        const connection = await attacked.ready();
        const all = hostileMessages(withoutPorts(attacked.seen.messages), () => {});
        const before = attacked.seen.messages.length;
        const sandbox = kind.iframeOptions.sandbox;
        const text = JSON.stringify(all.filter(([, transfer]) => transfer.length === 0).map(([message]) => message));
        const messages = JSON.parse(text);
        const element = document.createElement("iframe");
        if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
        const script = `for (const message of ${text}) parent.postMessage(message, "*"); parent.postMessage({ type: "posted" }, "*")`;
        // Posts the messages at once, and again when the iframe is removed.
        element.srcdoc = `<script>onpagehide = () => { ${script} }; ${script}</script>`;
        document.body.append(element);
        afterThisTest(() => element.remove());
        await until(() => attacked.seen.events.some(({ data }) => data?.type === "posted"));
        element.remove();
        await until(() => attacked.seen.messages.length >= before + messages.length);
        await assertUnharmed(connection, attacked, link);
      });
    });
  }
}

describe("connecting", () => {
  for (const [name, kind] of Object.entries(targets)) {
    it(`to a slow iframe ${name} is safe from all hostile iframes`, async () => {
      const attacked = await openAttackedIframe({ link: "connect", kind, late: 1_000 });
      const attackers = await Promise.all(Object.values(hostileIframes).map(openHostileIframe));
      const reports = [];
      for (const hostile of attackers) {
        reports.push(await attack(hostile, attacked.seen), await attack(hostile, attacked.seen, attacked.index));
      }
      for (const [message, transfer] of hostileMessages(withoutPorts(attacked.seen.messages), () => {}))
        window.postMessage(message, "*", transfer);
      const connection = await attacked.ready();
      await assertUnharmed(connection, attacked, "connect");
      for (const { received } of reports) assert.deepEqual(received, []);
    });
  }
});
