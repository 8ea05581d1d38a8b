// Tests several clients and servers on one boundary, and messages that falsely claim to belong to a session.

import { assert } from "chai";
import { ScriptedPeer, connected, hexId, ports, recordClosedPorts } from "../web/support/connections.js";
import { afterThisTest } from "../web/support/cleanup.js";
import { RemoteEnd } from "../web/support/transports.js";
import { pause, rejection, until } from "../web/support/outcomes.js";
import {
  JSONRPCClient,
  JSONRPCPeer,
  broadcastTransport,
  portTransport,
  workerTransport,
} from "../web/support/portway.js";

const message = (rest) => ({ jsonrpc: "2.0", ...rest });

/** Starts a port, and returns an object that has the interface of a worker and uses this port. */
function asWorker(port) {
  port.start();
  return {
    postMessage: (...args) => port.postMessage(...args),
    addEventListener: (...args) => port.addEventListener(...args),
    removeEventListener: (...args) => port.removeEventListener(...args),
  };
}

const boundaries = {
  port: () => {
    const [near, far] = ports();
    return { near: () => portTransport(near), far: () => portTransport(far) };
  },
  worker: () => {
    const [near, far] = ports().map(asWorker);
    return { near: () => workerTransport(near), far: () => workerTransport(far) };
  },
  "broadcast channel": () => {
    const name = `hostile ${Math.random()}`;
    return { near: () => broadcastTransport(name), far: () => broadcastTransport(name) };
  },
};

function peer(transport, options = {}) {
  const created = new JSONRPCPeer(transport, { timeout: 2_000, onError() {}, ...options });
  afterThisTest(() => created.destroy());
  return created;
}

function client(transport) {
  const created = new JSONRPCClient(transport, { timeout: 2_000, onError() {} });
  afterThisTest(() => created.destroy());
  return created;
}

describe("two clients or servers on one boundary", () => {
  for (const [name, make] of Object.entries(boundaries)) {
    it(`receive only their own responses over a ${name}`, async () => {
      const { near, far } = make();
      const server = peer(far());
      server.method("echo", async ([value, ms]) => (await pause(ms), value));
      const [first, second] = [client(near()), client(near())];
      const calls = [];
      for (let n = 0; n < 20; n++) {
        // Because of the pauses, the order of the responses differs from the order of the requests.
        calls.push(first.request("echo", [`one ${n}`, (20 - n) % 7]), second.request("echo", [`other ${n}`, n % 5]));
      }
      const got = await Promise.all(calls.map((call) => call.catch(({ message }) => message)));
      assert.deepEqual(
        got,
        numbers(20).flatMap((n) => [`one ${n}`, `other ${n}`]),
      );
    });

    it(`cancel only their own calls over a ${name}`, async () => {
      const { near, far } = make();
      const server = peer(far());
      server.method("wait", async ([value], { signal }) => {
        await Promise.race([
          pause(200),
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled")))),
        ]);
        return value;
      });
      const [first, second] = [client(near()), client(near())];
      const abort = new AbortController();
      const cancelledCall = rejection(first.request("wait", ["one"], { signal: abort.signal }));
      const otherCall = second.request("wait", ["other"]).catch(({ message }) => message);
      await pause(50);
      abort.abort();
      await cancelledCall;
      assert.equal(await otherCall, "other");
    });

    if (name === "broadcast channel") continue;
    it(`serve only their own methods and answer each request once over a ${name}`, async () => {
      const { near, far } = make();
      peer(near()).method("first", () => "first");
      peer(near()).method("second", () => "second");
      const caller = client(far());
      for (const method of ["first", "second", "first", "second"]) assert.equal(await caller.request(method), method);
      assert.equal((await rejection(caller.request("third"))).code, -32601);
      assert.equal(caller.ignored, 0);
    });
  }
});

const numbers = (count) => Array.from({ length: count }, (_, n) => n);

describe("a lane over a worker", () => {
  /** Opens a session over a lane. The test acts as the peer, with `scriptedPeer`. */
  async function openScripted(options) {
    const [port, far] = ports();
    const scriptedPeer = new ScriptedPeer(far);
    const calls = [];
    const connecting = connected(asWorker(port), {
      onError() {},
      methods: { secret: (params) => void calls.push(params) },
      ...options,
    });
    const { id } = await scriptedPeer.nextHello();
    scriptedPeer.post(message({ id, result: { session: hexId(1), version: 1, features: ["lane"], lane: hexId("a") } }));
    await connecting;
    return { scriptedPeer, calls, id };
  }

  it("ignores messages that are not wrapped with exactly the name of the lane", async () => {
    const { scriptedPeer, calls, id } = await openScripted();
    const secret = message({ id: 1, method: "secret", params: ["forged"] });
    for (const portway of [
      hexId("b"),
      hexId("A"),
      hexId(1),
      id,
      "",
      null,
      undefined,
      0,
      [hexId("a")],
      { toString: hexId("a") },
      true,
    ])
      scriptedPeer.post({ portway, message: secret });
    scriptedPeer.post({ portway: hexId("a") });
    scriptedPeer.post({ portway: hexId("a"), message: null });
    scriptedPeer.post({ portway: hexId("a"), message: { portway: hexId("a"), message: secret } });
    scriptedPeer.post([{ portway: hexId("a"), message: secret }]);
    // This message is not wrapped, although the session uses a lane.
    scriptedPeer.post(secret);
    scriptedPeer.post({
      portway: hexId("a"),
      message: message({ id: 2, method: "secret", params: ["through the lane"] }),
    });
    await until(() => calls.length > 0, "messages with the name of the lane must be served");
    assert.deepEqual(calls, [["through the lane"]]);
  });

  it("is ignored after its session has ended, also during the next session", async () => {
    const { scriptedPeer, calls } = await openScripted();
    scriptedPeer.post({
      portway: hexId("a"),
      message: message({ id: 0, method: "secret", params: ["before the goodbye"] }),
    });
    // The goodbye is sent only after this call was served. An earlier goodbye could arrive before the host reports the
    // session, and the host would then handle the call and the goodbye together.
    await until(() => calls.length > 0, "the session must be served");
    scriptedPeer.post({ portway: hexId("a"), message: message({ method: "rpc.bye", params: { reason: "closed" } }) });
    scriptedPeer.post({
      portway: hexId("a"),
      message: message({ id: 1, method: "secret", params: ["after the goodbye"] }),
    });
    await pause(50);
    const timer = setInterval(() => scriptedPeer.hello(hexId(0), { features: ["lane"] }), 20);
    afterThisTest(() => clearInterval(timer));
    const answer = await scriptedPeer.find((message) => message?.id === hexId(0) && message.result !== undefined);
    const { lane } = answer.result;
    assert.match(lane, /^[0-9a-f]{32}$/);
    assert.notEqual(lane, hexId("a"));
    scriptedPeer.post({ portway: lane, message: message({ method: "rpc.ping" }) });
    scriptedPeer.post({
      portway: hexId("a"),
      message: message({ id: 2, method: "secret", params: ["of the last session"] }),
    });
    scriptedPeer.post({ portway: lane, message: message({ id: 3, method: "secret", params: ["of this session"] }) });
    await until(() => calls.some(([text]) => text === "of this session"), "the next session must be served");
    assert.deepEqual(calls, [["before the goodbye"], ["of this session"]]);
    const answers = scriptedPeer.received.filter((one) => one?.portway === hexId("a") && "result" in one.message);
    assert.deepEqual(
      answers.map(({ message }) => message.id),
      [0],
    );
  });
});

describe("a port of a session", () => {
  it("is ignored after the session has ended, and handlers of that session send nothing to the next session", async () => {
    const [port, far] = ports();
    const scriptedPeer = new ScriptedPeer(far);
    const calls = [];
    const reports = [];
    let proceed;
    const mayProceed = new Promise((resolve) => (proceed = resolve));
    const connecting = connected(port, {
      onError: (error) => reports.push(error),
      methods: {
        secret: (params) => void calls.push(params),
        async job(_, context) {
          await mayProceed;
          context.notify("late", ["notification"]);
          context.progress(["late"]);
          return "late";
        },
      },
    });
    const first = await scriptedPeer.open();
    await connecting;
    first.post(message({ id: 1, method: "job" }));
    await pause(30);
    // The port stays open after the goodbye, as if a second realm still used it.
    first.bye();
    const timer = setInterval(() => scriptedPeer.hello(hexId(0)), 20);
    afterThisTest(() => clearInterval(timer));
    const second = scriptedPeer.enter(
      await scriptedPeer.find((message) => message?.id === hexId(0) && message.result !== undefined),
    );
    clearInterval(timer);
    second.post(message({ id: 1, method: "unknown" }));
    first.post(message({ id: 2, method: "secret", params: ["by the old port"] }));
    proceed();
    await pause(100);
    second.post(message({ id: 3, method: "secret", params: ["by the new port"] }));
    await until(() => calls.length > 0, "the new port must be served");
    assert.deepEqual(calls, [["by the new port"]]);
    assert.notInclude(JSON.stringify(second.received), "late");
    assert.isAtLeast(reports.length, 1, "the dropped messages must be reported");
  });

  it("is closed and not used if it arrives in a second response to the same hello: the first session continues", async () => {
    const [port, far] = ports();
    const scriptedPeer = new ScriptedPeer(far);
    const calls = [];
    const connecting = connected(port, { onError() {}, methods: { secret: (params) => void calls.push(params) } });
    const hello = await scriptedPeer.nextHello();
    const first = scriptedPeer.accept(hello);
    await connecting;
    const closed = recordClosedPorts();
    const others = numbers(20).map(() => {
      const { port1, port2 } = new MessageChannel();
      scriptedPeer.post(
        message({ id: hello.id, result: { session: hexId(2), version: 1, features: [], port: port2 } }),
        [port2],
      );
      const end = new RemoteEnd(port1);
      end.post(message({ id: 1, method: "secret", params: ["by another"] }));
      afterThisTest(() => port1.close());
      return end;
    });
    await until(() => closed.size === others.length, "the other ports must be closed");
    first.post(message({ id: 2, method: "secret", params: ["by the first"] }));
    await until(() => calls.length > 0, "the first session must be served");
    await pause(50);
    assert.deepEqual(calls, [["by the first"]]);
    assert.equal(closed.size, others.length, "the port of the first session must stay open");
    assert.deepEqual(
      others.flatMap(({ received }) => received),
      [],
    );
  });
});
