// The context of a handler whose session has ended or whose peer has disconnected. The library drops and reports the
// messages that the handler sends with it. They do not reach the next document of the peer.

import { assert } from "chai";
import { CallError, JSONRPCServer } from "./support/portway.js";
import { reconnect, connected, hexId, scriptedPort } from "./support/connections.js";
import { recorder } from "./support/transports.js";
import { deferred, pause, until } from "./support/outcomes.js";

/** Connects a peer to the test. The test also ends the handlers. */
async function connectWithHandlers(features = ["batch"], options) {
  const { port, scriptedPeer } = scriptedPort();
  const contexts = [];
  const ends = [];
  const errors = [];
  const onError = ({ reason, method, message }) => errors.push(reason === undefined ? message : [reason, method]);
  const work = (params, context) => {
    contexts.push(context);
    const end = deferred();
    ends.push(end);
    return end.promise;
  };
  const note = (params, context) => void contexts.push(context);
  const connecting = connected(port, { methods: { work }, notifications: { note }, onError, ...options });
  const end = await scriptedPeer.open({ session: hexId(1), features });
  return { peer: await connecting, scriptedPeer, end, contexts, ends, errors };
}

const request = (id, method = "work") => ({ jsonrpc: "2.0", id, method });
const notification = (method = "note") => ({ jsonrpc: "2.0", method });

const ways = {
  "a request": [["batch"], (end) => end.post(request(1))],
  "a notification": [["batch"], (end) => end.post(notification())],
  "a list": [["batch"], (end) => end.post([request(1), notification()])],
  columns: [
    ["batch"],
    (end) =>
      end.post({ jsonrpc: "2.0", method: "rpc.columns", params: { ids: [1, 2], methods: "work", values: [[], []] } }),
  ],
  "a batch": [[], (end) => end.post([request(1), notification(), request(2)])],
};

describe("the context of a handler whose session has ended", () => {
  for (const [name, [features, send]] of Object.entries(ways)) {
    it(`sends nothing to the next session, and the dropped messages are reported: in ${name}`, async () => {
      const { scriptedPeer, end, contexts, ends, errors, peer } = await connectWithHandlers(features);
      send(end);
      await until(() => contexts.length > 0);
      await end.unreadBeforeResponse();
      const taken = contexts.map(({ notify, progress, transfer }) => ({ notify, progress, transfer }));
      end.bye();
      const next = await reconnect(scriptedPeer, { features });
      next.post(request("now"));
      await until(() => ends.length > 0 && contexts.length > taken.length);
      for (const { notify, progress, transfer } of taken) {
        transfer([new ArrayBuffer(8)]);
        notify("secret", [1]);
        progress("secret");
      }
      for (const { resolve } of ends.slice(0, -1)) resolve("secret");
      await pause(20);
      // The application's own messages reach the peer of the current session.
      peer.notify("public");
      ends.at(-1).resolve("answer");
      const received = (await next.unreadBeforeResponse()).flat().filter(({ method }) => !method?.startsWith("rpc."));
      assert.deepEqual(received, [
        { jsonrpc: "2.0", method: "public" },
        { jsonrpc: "2.0", result: "answer", id: "now" },
      ]);
      // The dropped results are not reported, because no caller waits for them.
      assert.equal(errors.length, 2 * taken.length);
      for (const error of errors) assert.equal(error[0], "session-ended");
    });
  }

  it("causes a report with the reason session-ended if its handler throws, and errorData is not called", async () => {
    const asked = [];
    const { scriptedPeer, end, contexts, ends, errors } = await connectWithHandlers(["batch"], {
      errorData: (error) => asked.push(error),
    });
    end.post(request(1));
    await until(() => contexts.length === 1);
    end.bye();
    const next = await reconnect(scriptedPeer);
    ends[0].reject(new Error("secret"));
    await next.unreadBeforeResponse();
    assert.deepEqual([errors, asked], [[["session-ended", "work"]], []]);
  });

  it("reports nothing if the handler returns", async () => {
    const { scriptedPeer, end, contexts, ends, errors } = await connectWithHandlers();
    end.post([request(1), request(2)]);
    await until(() => contexts.length === 2);
    ends[0].promise.then(() => ends[1].resolve("late, too"));
    end.bye();
    const next = await reconnect(scriptedPeer);
    ends[0].resolve("late");
    await next.unreadBeforeResponse();
    assert.deepEqual(errors, []);
  });

  it("reports nothing if the handler stops because its signal was aborted", async () => {
    const { scriptedPeer, end, contexts, ends, errors } = await connectWithHandlers();
    end.post([request(1), request(2)]);
    await until(() => contexts.length === 2);
    contexts[0].signal.addEventListener("abort", () => ends[0].reject(contexts[0].signal.reason));
    contexts[1].signal.addEventListener("abort", () => ends[1].reject(new DOMException("stopped", "AbortError")));
    end.bye();
    const next = await reconnect(scriptedPeer);
    await next.unreadBeforeResponse();
    assert.deepEqual(errors, []);
  });

  it("sends no more items of a stream", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const errors = [];
    let go;
    let isClosed = false;
    const methods = {
      async *count() {
        try {
          yield 1;
          await new Promise((resolve) => (go = resolve));
          yield 2;
        } finally {
          isClosed = true;
        }
      },
    };
    const connecting = connected(port, { methods, onError: (error) => errors.push(error) });
    const end = await scriptedPeer.open({ session: hexId(1), features: ["batch", "stream"] });
    await connecting;
    end.post({ jsonrpc: "2.0", id: 1, method: "rpc.stream", params: { method: "count", credit: 100 } });
    await until(() => go !== undefined);
    end.bye();
    const next = await reconnect(scriptedPeer, { features: ["batch", "stream"] });
    go();
    await until(() => isClosed);
    assert.deepEqual(
      (await next.unreadBeforeResponse())
        .flat()
        .filter(({ method }) => !method?.startsWith("rpc.p") && method !== "rpc.lock"),
      [],
    );
    assert.deepEqual(errors, []);
  });

  it("still works in a session that is unresponsive", async () => {
    const { port, scriptedPeer } = scriptedPort();
    let context;
    const methods = { work: (_, given) => ((context = given), new Promise(() => {})) };
    const connecting = connected(port, { methods, heartbeat: 100 });
    const end = await scriptedPeer.open({ session: hexId(1) });
    const peer = await connecting;
    end.post(request(1));
    await until(() => context !== undefined);
    const error = await peer.request("silence", [], { timeout: 0 }).catch((error) => error);
    assert.equal(error.reason, "unresponsive");
    context.notify("still", [1]);
    await end.notification("still");
  });
});

describe("messages of one array or of columns, the first of which ends the session,", () => {
  function serverOnLosableTransport(options) {
    const errors = [];
    const transport = { ...recorder(), onClose: (lose) => (transport.lose = lose) };
    const workContexts = [];
    new JSONRPCServer(transport, { onError: ({ reason }) => errors.push(reason), ...options })
      .method("end", () => void transport.lose(new CallError("session-ended", "it has gone"), true))
      .method("work", (_, context) => void workContexts.push(context));
    return { transport, workContexts, errors };
  }

  for (const [name, options, message] of [
    ["a list", { coalesce: true }, [request(1, "end"), request(2)]],
    [
      "columns",
      { coalesce: "columns" },
      { jsonrpc: "2.0", method: "rpc.columns", params: { ids: [1, 2], methods: ["end", "work"], values: [[], []] } },
    ],
    ["a batch", {}, [request(1, "end"), request(2)]],
  ]) {
    it(`are not handled and get no response: ${name}`, async () => {
      const { transport, workContexts, errors } = serverOnLosableTransport(options);
      transport.deliver(message);
      await pause(0);
      assert.deepEqual([workContexts, transport.sent, errors], [[], [], []]);
      transport.deliver(request(3));
      await pause(0);
      assert.deepEqual([workContexts.length, transport.sent], [1, [{ jsonrpc: "2.0", result: null, id: 3 }]]);
    });
  }
});

describe("requests whose handlers continue after their session has ended", () => {
  it("count in later sessions until they end, so that new sessions do not allow a peer more running requests", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const ends = [];
    const methods = { work: () => new Promise((resolve) => ends.push(resolve)) };
    const connecting = connected(port, { methods, limits: { inFlight: 2 }, onError() {} });
    let end = await scriptedPeer.open();
    await connecting;
    const work = (id) => ({ jsonrpc: "2.0", method: "work", id });
    for (let session = 1; session <= 4; session++) {
      end.post(work(1));
      end.post(work(2));
      await until(() => ends.length === 2 * session);
      end.bye();
      end = await reconnect(scriptedPeer, {});
    }
    end.post(work("refused"));
    const { id, error } = await end.nextCall();
    assert.deepEqual([id, error.code, error.data.reason, ends.length], ["refused", -32600, "too-many-requests", 8]);
    ends[0]();
    await pause(0);
    end.post(work("taken"));
    await until(() => ends.length === 9);
  });
});
