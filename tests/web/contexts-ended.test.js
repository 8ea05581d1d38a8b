// A handler may still run after its session has ended. The library drops and reports the messages that this handler
// sends by its context. So these messages do not reach the next document of the peer.

import { assert } from "chai";
import { CallError, JSONRPCServer } from "./support/portway.js";
import { reconnect, connected, hexId, scriptedPort } from "./support/connections.js";
import { recorder } from "./support/transports.js";
import { deferred, pause, until } from "./support/outcomes.js";

/**
 * Connects a peer to the test. `results` has a deferred promise for each call of the method `work`. The handler returns
 * this promise, so the test ends the handler by it.
 */
async function connectWithHandlers(features = ["batch"], options) {
  const { port, scriptedPeer } = scriptedPort();
  const contexts = [];
  const results = [];
  const errors = [];
  const onError = ({ reason, method, message }) => errors.push(reason === undefined ? message : [reason, method]);
  const work = (params, context) => {
    contexts.push(context);
    const result = deferred();
    results.push(result);
    return result.promise;
  };
  const note = (params, context) => void contexts.push(context);
  const connecting = connected(port, { methods: { work }, notifications: { note }, onError, ...options });
  const end = await scriptedPeer.open({ session: hexId(1), features });
  return { peer: await connecting, scriptedPeer, end, contexts, results, errors };
}

const request = (id, method = "work") => ({ jsonrpc: "2.0", id, method });
const notification = (method = "note") => ({ jsonrpc: "2.0", method });

/** By kind of message: the features of the peer, and a function that sends the messages. */
const kinds = {
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
  for (const [name, [features, send]] of Object.entries(kinds)) {
    it(`sends nothing to the next session, and the dropped messages are reported: ${name}`, async () => {
      const { scriptedPeer, end, contexts, results, errors, peer } = await connectWithHandlers(features);
      send(end);
      await until(() => contexts.length > 0);
      await end.unreadBeforeResponse();
      const oldContexts = contexts.map(({ notify, progress, transfer }) => ({ notify, progress, transfer }));
      end.bye();
      const next = await reconnect(scriptedPeer, { features });
      next.post(request("now"));
      await until(() => results.length > 0 && contexts.length > oldContexts.length);
      for (const { notify, progress, transfer } of oldContexts) {
        transfer([new ArrayBuffer(8)]);
        notify("secret", [1]);
        progress("secret");
      }
      for (const { resolve } of results.slice(0, -1)) resolve("secret");
      await pause(20);
      // The application's own messages reach the peer of the current session.
      peer.notify("public");
      results.at(-1).resolve("answer");
      const received = (await next.unreadBeforeResponse()).flat().filter(({ method }) => !method?.startsWith("rpc."));
      assert.deepEqual(received, [
        { jsonrpc: "2.0", method: "public" },
        { jsonrpc: "2.0", result: "answer", id: "now" },
      ]);
      // The dropped results are not reported, because no caller waits for them.
      assert.equal(errors.length, 2 * oldContexts.length);
      for (const error of errors) assert.equal(error[0], "session-ended");
    });
  }

  it("causes a report with the reason session-ended if its handler throws, and errorData is not called", async () => {
    const errorDataCalls = [];
    const { scriptedPeer, end, contexts, results, errors } = await connectWithHandlers(["batch"], {
      errorData: (error) => errorDataCalls.push(error),
    });
    end.post(request(1));
    await until(() => contexts.length === 1);
    end.bye();
    const next = await reconnect(scriptedPeer);
    results[0].reject(new Error("secret"));
    await next.unreadBeforeResponse();
    assert.deepEqual([errors, errorDataCalls], [[["session-ended", "work"]], []]);
  });

  it("reports nothing if the handler returns", async () => {
    const { scriptedPeer, end, contexts, results, errors } = await connectWithHandlers();
    end.post([request(1), request(2)]);
    await until(() => contexts.length === 2);
    results[0].promise.then(() => results[1].resolve("late, too"));
    end.bye();
    const next = await reconnect(scriptedPeer);
    results[0].resolve("late");
    await next.unreadBeforeResponse();
    assert.deepEqual(errors, []);
  });

  it("reports nothing if the handler stops because its signal was aborted", async () => {
    const { scriptedPeer, end, contexts, results, errors } = await connectWithHandlers();
    end.post([request(1), request(2)]);
    await until(() => contexts.length === 2);
    contexts[0].signal.addEventListener("abort", () => results[0].reject(contexts[0].signal.reason));
    contexts[1].signal.addEventListener("abort", () => results[1].reject(new DOMException("stopped", "AbortError")));
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
    // A session also sends `rpc.ping`, `rpc.pong` and `rpc.lock`, which have nothing to do with the stream.
    assert.deepEqual(
      (await next.unreadBeforeResponse())
        .flat()
        .filter(({ method }) => !method?.startsWith("rpc.p") && method !== "rpc.lock"),
      [],
    );
    assert.deepEqual(errors, []);
  });
});

describe("the context of a handler whose peer is unresponsive", () => {
  it("still sends messages, because the session has not ended", async () => {
    const { port, scriptedPeer } = scriptedPort();
    let context;
    const methods = { work: (_, handlerContext) => ((context = handlerContext), new Promise(() => {})) };
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

describe("messages after a message that ends the session, in the same array or columns,", () => {
  /** Creates a server whose method `end` ends the session of its transport. */
  function serverOnLosableTransport(options) {
    const errors = [];
    const transport = { ...recorder(), onClose: (lose) => (transport.lose = lose) };
    const workContexts = [];
    new JSONRPCServer(transport, { onError: ({ reason }) => errors.push(reason), ...options })
      .method("end", () => void transport.lose(new CallError("session-ended", "the session has ended"), true))
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
  it("are counted in later sessions: a new request is refused if four times `inFlight` of these requests run", async () => {
    const { port, scriptedPeer } = scriptedPort();
    const results = [];
    const methods = { work: () => new Promise((resolve) => results.push(resolve)) };
    const connecting = connected(port, { methods, limits: { inFlight: 2 }, onError() {} });
    let end = await scriptedPeer.open();
    await connecting;
    const work = (id) => ({ jsonrpc: "2.0", method: "work", id });
    for (let session = 1; session <= 4; session++) {
      end.post(work(1));
      end.post(work(2));
      await until(() => results.length === 2 * session);
      end.bye();
      end = await reconnect(scriptedPeer, {});
    }
    end.post(work("refused"));
    const { id, error } = await end.nextCall();
    assert.deepEqual([id, error.code, error.data.reason, results.length], ["refused", -32600, "too-many-requests", 8]);
    results[0]();
    await pause(0);
    end.post(work("taken"));
    await until(() => results.length === 9);
  });
});
