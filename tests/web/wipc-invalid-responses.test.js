// Responses in CALL frames that cannot be parsed. Each such response ends its own call and no other call.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer } from "./support/portway.js";
import { CALL, concat, encodeWipc, scriptedPipe, utf8 } from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection } from "./support/outcomes.js";

const MAX_MESSAGE_BYTES = 5_000;
const LONG = "x".repeat(2 * MAX_MESSAGE_BYTES);

/** Creates a client with pending calls. The test is its peer. */
async function clientWithPendingCalls(count, Class = JSONRPCClient) {
  const pipe = scriptedPipe({ maxMessage: MAX_MESSAGE_BYTES });
  const errors = [];
  const client = new Class(pipe.channel.transport(), { onError: ({ message }) => errors.push(message) });
  afterThisTest(() => client.destroy());
  const calls = Array.from({ length: count }, () => client.request("wait", [], { timeout: 0 }));
  for (const call of calls) call.catch(() => {});
  return { pipe, client, calls, errors };
}

const post = (pipe, text) => pipe.post(CALL, text);

const unreadable = (id) => [
  `{"jsonrpc":"2.0","id":${id},"result":NaN}`,
  `{"jsonrpc":"2.0","result":Infinity,"id": ${id} }`,
  `{"jsonrpc":"2.0","id":${id},"result":[1`,
  `{"jsonrpc":"2.0","id":${id},"result":"${LONG}"}`,
  `{"result":{"id":77,"\\"":"]"},"id":${id},"error":}`,
  `{"jsonrpc":"2.0","id":${id},"error":{"code":NaN,"message":"no"}}`,
  `{"jsonrpc":"2.0","error":{"code":-32001,"message":"no"},"id":${id},`,
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":"${LONG}"}}`,
  `[{"jsonrpc":"2.0","id":${id},"result":NaN}]`,
  concat([utf8(`{"jsonrpc":"2.0","id":${id},"result":"`), Uint8Array.of(0xff), utf8('"}')]),
];

describe("an unreadable response over WIPC", () => {
  for (const [index, text] of unreadable(2).entries()) {
    it(`ends its own call and no other call (${index + 1})`, async () => {
      const { pipe, client, calls, errors } = await clientWithPendingCalls(3);
      await post(pipe, text);
      const error = await rejection(calls[1]);
      assert.deepEqual([error.name, error.reason, error.id], ["CallError", "unreadable-response", 2]);
      assert.match(error.cause.message, /is not JSON|exceeds maxMessage/);
      assert.deepEqual([errors.length, client.pending], [1, 2]);
      await post(pipe, '{"jsonrpc":"2.0","id":3,"result":"yes"}');
      assert.equal(await calls[2], "yes");
    });
  }

  for (const id of ["2.0", "2e0", "20E-1"])
    it(`with the id ${id} ends the call 2`, async () => {
      const { pipe, client, calls } = await clientWithPendingCalls(3);
      await post(pipe, unreadable(id)[0]);
      const error = await rejection(calls[1]);
      assert.deepEqual([error.reason, error.id, client.pending], ["unreadable-response", 2, 2]);
    });

  it("ends no call if its id has a fraction, or more digits than are read", async () => {
    const { pipe, client } = await clientWithPendingCalls(3);
    for (const id of ["1.5", "-2", "200e-1", `2.${"0".repeat(70)}e5`]) await post(pipe, unreadable(id)[0]);
    assert.equal(client.pending, 3);
  });

  it("also ends its call at a peer that can serve requests", async () => {
    const { pipe, calls } = await clientWithPendingCalls(2, JSONRPCPeer);
    await post(pipe, unreadable(1)[0]);
    assert.equal((await rejection(calls[0])).reason, "unreadable-response");
  });

  it("in a batch ends the call of each response of the batch", async () => {
    const { pipe, client, calls } = await clientWithPendingCalls(3);
    await post(pipe, '[{"jsonrpc":"2.0","id":1,"result":NaN},{"jsonrpc":"2.0","id":3,"result":1}]');
    for (const call of [calls[0], calls[2]]) assert.equal((await rejection(call)).reason, "unreadable-response");
    assert.equal(client.pending, 1);
  });

  it("ends the only pending call if its id cannot be read, and no call if several are pending", async () => {
    const responseWithoutId = '{"jsonrpc":"2.0","result":"x';
    const one = await clientWithPendingCalls(1);
    await post(one.pipe, responseWithoutId);
    assert.equal((await rejection(one.calls[0])).reason, "unreadable-response");
    const two = await clientWithPendingCalls(2);
    await post(two.pipe, responseWithoutId);
    await post(two.pipe, '{"jsonrpc":"2.0","id":1,"result":"yes"}');
    assert.equal(await two.calls[0], "yes");
    assert.deepEqual([two.client.pending, two.errors.length], [1, 1]);
  });

  it("ends no call if its id is unknown, and an unreadable request also ends no call", async () => {
    const { pipe, calls } = await clientWithPendingCalls(1);
    const others = ['"method":"x","params":[NaN]', '"params":[', `"method":"${LONG}`].map(
      (rest) => `{"jsonrpc":"2.0","id":1,${rest}`,
    );
    for (const text of [...others, '{"id":"1","result":NaN}', '{"id":null,"error":NaN}', "hello", "["]) {
      await post(pipe, text);
    }
    await post(pipe, '{"jsonrpc":"2.0","id":1,"result":"yes"}');
    assert.equal(await calls[0], "yes");
  });
});

describe("a response over WIPC that exceeds the limit", () => {
  /** Returns a response whose id follows a filler of this length. */
  const longResponse = (fillerLength) =>
    `{"jsonrpc":"2.0","x":"${"x".repeat(fillerLength)}","id":2,"result":"${LONG}"}`;
  /** The maximum length of the filler with which the id and its comma are within the 1024 bytes that are searched. */
  const maxFiller = 1_024 - '{"jsonrpc":"2.0","x":"","id":2,'.length;

  it("ends the only pending call if its id is beyond the searched part", async () => {
    const two = await clientWithPendingCalls(2);
    await post(two.pipe, longResponse(maxFiller + 1));
    await post(two.pipe, longResponse(maxFiller));
    assert.equal((await rejection(two.calls[1])).reason, "unreadable-response");
    assert.equal(two.client.pending, 1);
    const one = await clientWithPendingCalls(1);
    await post(one.pipe, longResponse(maxFiller + 1));
    assert.equal((await rejection(one.calls[0])).reason, "unreadable-response");
  });

  it("ends its call even if it arrives in several chunks, and before a client exists", async () => {
    const pipe = scriptedPipe({ maxMessage: MAX_MESSAGE_BYTES });
    const frame = encodeWipc(CALL, longResponse(maxFiller));
    for (let at = 0; at < frame.length; at += 100) pipe.postBytes(frame.subarray(at, at + 100));
    const client = new JSONRPCClient(pipe.channel.transport(), { onError() {} });
    afterThisTest(() => client.destroy());
    const calls = [1, 2].map(() => client.request("wait", [], { timeout: 0 }));
    for (const call of calls) call.catch(() => {});
    assert.equal((await rejection(calls[1])).reason, "unreadable-response");
  });
});
