// Names of methods that are too long, and the part of a name that an error repeats.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, RPCError, validateMessage } from "./support/portway.js";
import { channel, recorder } from "./support/transports.js";
import { printed } from "./support/console.js";
import { rejection } from "./support/outcomes.js";

const MAX_LENGTH_NAME = "m".repeat(1_024);
const TOO_LONG = "m".repeat(1_025);
const REFUSAL = { code: -32600, message: "Invalid Request", data: { reason: "method-too-long" } };

const request = (method, id, params = []) => ({ jsonrpc: "2.0", method, params, id });
const refusal = (id) => ({ jsonrpc: "2.0", error: REFUSAL, id });
const columns = (params) => ({ jsonrpc: "2.0", method: "rpc.columns", params });

/** Waits for the next task. The messages that were queued in this turn are sent before that task. */
const turnEnd = () => new Promise((resolve) => setTimeout(resolve));

/**
 * Delivers the messages to a peer, and checks that the handlers of the name TOO_LONG are not called. Returns the peer
 * and the array of its sent messages, to which the peer may add later messages.
 */
function replies(messages, options) {
  const transport = recorder();
  const called = [];
  const peer = new JSONRPCPeer(transport, { onError() {}, ...options })
    .method("echo", (params) => params)
    .method(TOO_LONG, () => void called.push("method"))
    .onNotify(TOO_LONG, () => void called.push("notification"));
  for (const message of messages) transport.deliver(message);
  assert.deepEqual(called, []);
  return { sent: transport.sent, peer };
}

describe("a method whose name has more than 1024 characters", () => {
  it("is refused with the id of its request, and the error does not contain the name", () => {
    for (const id of [1, "a", 1.5, null]) {
      assert.deepEqual(replies([request(TOO_LONG, id)]).sent, [refusal(id)]);
    }
  });

  it("is refused in a batch, and the other requests of the batch are handled", () => {
    const [batch] = replies([[request(TOO_LONG, 1), { jsonrpc: "2.0", method: TOO_LONG }, request("echo", 2)]]).sent;
    assert.sameDeepMembers(batch, [refusal(1), { jsonrpc: "2.0", result: [], id: 2 }]);
  });

  it("is refused in a list", async () => {
    const { sent } = replies([[request(TOO_LONG, 1), request("echo", 2), request(TOO_LONG, 3)]], { coalesce: true });
    await turnEnd();
    assert.deepEqual(sent.flat(), [refusal(1), { jsonrpc: "2.0", result: [], id: 2 }, refusal(3)]);
  });

  it("is refused in a columns notification, with an error for each of its requests", async () => {
    const ids = Array.from({ length: 256 }, (_, n) => n);
    const { sent } = replies([columns({ ids, methods: TOO_LONG, values: ids.map(() => []) })]);
    await turnEnd();
    assert.deepEqual(sent.flat(), ids.map(refusal));
  });

  it("is refused as the method of a stream", async () => {
    const params = { method: TOO_LONG, credit: 1 };
    const requests = [request("rpc.stream", 7, params), [request("rpc.stream", 8, params), request("echo", 9)]];
    const { sent } = replies(requests);
    await turnEnd();
    assert.deepEqual(sent[0], refusal(7));
    assert.deepInclude(sent[1], refusal(8));
  });

  it("is not called by a notification, and the peer counts the notification as ignored", () => {
    const note = { jsonrpc: "2.0", method: TOO_LONG };
    const reserved = { jsonrpc: "2.0", method: `rpc.${TOO_LONG}`, params: {} };
    const { sent, peer } = replies([note, [note, note], reserved, columns({ methods: TOO_LONG, values: [[], []] })]);
    assert.deepEqual([sent, peer.ignored], [[], 6]);
  });

  it("is accepted by validateMessage, because JSON-RPC 2.0 does not limit the length of a name", () => {
    assert.isTrue(validateMessage(request(TOO_LONG, 1)).isValid);
  });

  it("makes a call reject with the error response of the peer", async () => {
    const { near, far } = channel();
    new JSONRPCPeer(far);
    const error = await rejection(new JSONRPCClient(near).request(TOO_LONG));
    assert.instanceOf(error, RPCError);
    assert.deepEqual([error.code, error.data], [-32600, { reason: "method-too-long" }]);
  });
});

describe("an error repeats no more than 100 characters of a name", () => {
  const cut = `"${"m".repeat(100)}"`;

  it("of an unknown method", () => {
    const [{ error }] = replies([request(MAX_LENGTH_NAME, 1)]).sent;
    assert.deepEqual([error.code, error.message], [-32601, `Method not found: ${"m".repeat(100)}`]);
    const [response] = replies([request("rpc.stream", 1, { method: MAX_LENGTH_NAME, credit: 1 })]).sent;
    assert.equal(response.error.message, `Method not found: ${"m".repeat(100)}`);
  });

  it("without splitting a surrogate pair", () => {
    const [{ error }] = replies([request(`${"m".repeat(99)}😀😀`, 1)]).sent;
    assert.equal(error.message, `Method not found: ${"m".repeat(99)}😀`);
  });

  it("of a method that returns a stream to a plain call, or no stream to a stream call", async () => {
    const transport = recorder();
    new JSONRPCPeer(transport, { onError() {} }).method(MAX_LENGTH_NAME, (params) =>
      params[0] === "stream" ? (async function* () {})() : params[0],
    );
    transport.deliver(request(MAX_LENGTH_NAME, 1, ["stream"]));
    transport.deliver(request("rpc.stream", 2, { method: MAX_LENGTH_NAME, params: ["none"], credit: 1 }));
    await turnEnd();
    const messages = transport.sent.map(({ error }) => error.message);
    assert.lengthOf(messages, 2);
    for (const text of messages) {
      assert.match(text, /returns? a stream/);
      assert.include(text, cut);
    }
  });

  it("of a method whose result cannot be cloned", async () => {
    const { near, far } = channel();
    new JSONRPCPeer(far, { onError() {} }).method(MAX_LENGTH_NAME, () => () => {});
    const { message } = await rejection(new JSONRPCClient(near).request(MAX_LENGTH_NAME));
    assert.match(message, /cannot be sent/);
    assert.include(message, cut);
  });

  it("in a printed line", async () => {
    const lines = await printed(() =>
      replies([request(MAX_LENGTH_NAME, 1), request(TOO_LONG, 2), { jsonrpc: "2.0", method: TOO_LONG }], {
        onError: undefined,
      }),
    );
    assert.notInclude(lines.join(""), "m".repeat(101));
  });
});
