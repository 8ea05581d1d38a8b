// Messages that arrive over a WebSocket: their encoding, their ids and invalid messages.

import { assert } from "chai";
import { connectTo, startServer } from "./support/sockets.js";
import { rejection, until } from "./support/outcomes.js";

/** Returns a peer with some methods, and a function that sends raw messages to the peer and returns its responses. */
async function serving(options) {
  const server = await startServer();
  const connection = connectTo(server.url, options);
  const { peer, session } = connection;
  const cancelled = [];
  peer
    .method("echo", (params) => params)
    .method("id", (_params, { id }) => id)
    .method("until-cancelled", (_params, { signal }) => {
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          cancelled.push(signal.reason);
          reject(signal.reason);
        }),
      );
    })
    .method("progress", (_params, { progress }) => void progress("half"))
    .method("count", async function* () {
      yield 1;
      yield 2;
    });
  await session();
  /** Sends messages and then a request. Returns the texts that arrive before the response to this request. */
  async function answersTo(...messages) {
    const start = (await server.log())[0].received.length;
    for (const message of messages)
      await server.command("send", typeof message === "string" ? { text: message } : message);
    const end = `"end-${start}"`;
    await server.command("send", { text: `{"jsonrpc":"2.0","method":"echo","id":${end}}` });
    const log = await server.logOnce(([{ received }]) => received.some((text) => text.includes(end)));
    return log[0].received.slice(start).filter((text) => !text.includes(end));
  }
  return { ...connection, server, answersTo, cancelled };
}

const bytesOf = (text) => [...new TextEncoder().encode(text)];
const request = (id, method = "echo", members = "") => `{"jsonrpc":"2.0","method":"${method}"${members},"id":${id}}`;

describe("a message over a WebSocket", () => {
  it("is decoded as UTF-8 if it is binary", async () => {
    const { answersTo } = await serving();
    const answers = await answersTo({ bytes: bytesOf(request('"ü"', "echo", ',"params":["ß😀"]')) });
    assert.deepEqual(JSON.parse(answers[0]), { jsonrpc: "2.0", result: ["ß😀"], id: "ü" });
  });

  it("gets the error -32700, and the connection stays open, if the message is not exactly one JSON text in UTF-8", async () => {
    const { answersTo, named } = await serving();
    const faults = [
      "",
      " ",
      `${request(1)}${request(2)}`,
      "{",
      { bytes: [] },
      { bytes: [0x22, 0xff, 0x22] },
      { bytes: [...bytesOf('{"jsonrpc":"2.0","method":"echo","params":["'), 0xc3, ...bytesOf('"],"id":1}')] },
      "\ufeff{}",
    ];
    const answers = await answersTo(...faults);
    assert.equal(answers.length, faults.length);
    for (const answer of answers)
      assert.deepEqual(JSON.parse(answer), {
        jsonrpc: "2.0",
        error: { code: -32700, message: "Parse error" },
        id: null,
      });
    assert.equal(named("onLost").length, 0);
  });

  it("gets the error -32600 if it is JSON but not a valid message, and has no result", async () => {
    const { answersTo } = await serving();
    const answers = await answersTo(
      "1",
      '"text"',
      "null",
      "[]",
      "{}",
      '{"id":true}',
      '{"method":"echo","id":{}}',
      '{"jsonrpc":"1.0","method":"echo"}',
      '{"method":"echo","id":7}',
      '{"result":1,"id":9}',
    );
    assert.deepEqual(
      answers.map((text) => JSON.parse(text)).map(({ error, id }) => [error.code, id]),
      [...Array(8).fill([-32600, null]), [-32600, 7]],
    );
    const reasons = answers.map((text) => JSON.parse(text).error.data?.reason);
    assert.deepEqual(reasons, [...Array(5), "invalid-id-type", "invalid-id-type", ...Array(2)]);
  });

  it("has its id repeated digit by digit in the response, even if JavaScript reads the id as another number", async () => {
    const { answersTo } = await serving();
    const ids = [
      "12345678901234567890123",
      "-9007199254740993",
      "1.0",
      "1e2",
      "-0",
      "0.1234567890123456789",
      "1.00000000000000000001",
      '"\\u0000n1"',
      '"\\u0000"',
      "7",
      "null",
      '""',
    ];
    const answers = await answersTo(
      ...ids.map((id) => request(id)),
      // This id is surrounded by white space, and other members follow it.
      '{ "id" : 12345678901234567890124 , "jsonrpc":"2.0", "method":"echo", "params":{"id":1} }',
    );
    const idTextOf = (text) => /"id":((?:"[^"]*")|[^,}]*)/.exec(text)[1];
    assert.deepEqual(answers.map(idTextOf), [...ids, "12345678901234567890124"]);
    for (const text of answers) assert.property(JSON.parse(text), "result");
    const refusals = await answersTo('{"id":1.0}', '{"jsonrpc":"2.0","method":5,"id":1e0}');
    assert.deepEqual(refusals.map(idTextOf), ["1.0", "1e0"]);
    for (const text of refusals) assert.equal(JSON.parse(text).error.code, -32600);
  });

  it("has its ids repeated digit by digit in the responses if it is a batch", async () => {
    const { answersTo } = await serving();
    const [text] = await answersTo(`[${request("1e2")},${request("12345678901234567890123")},3,${request(5)}]`);
    assert.include(text, '"id":1e2');
    assert.include(text, '"id":12345678901234567890123');
    const codes = JSON.parse(text).map(({ error }) => error?.code ?? 0);
    assert.deepEqual(
      codes.sort((a, b) => a - b),
      [-32600, 0, 0, 0],
    );
  });

  it("can be cancelled, and its progress and stream items have all digits of its id, if the id has 23 digits", async () => {
    const { answersTo, cancelled } = await serving();
    const id = "12345678901234567890123";
    const answers = await answersTo(
      request(id, "until-cancelled"),
      `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":12345678901234567890124}}`,
      `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":${id}}}`,
    );
    assert.equal(cancelled.length, 1);
    assert.include(answers[0], `"id":${id}`);
    assert.equal(JSON.parse(answers[0]).error.code, -32800);
    const progress = await answersTo(request(id, "progress"));
    assert.include(progress[0], `"token":${id}`);
    const { server } = await serving();
    const stream = `{"jsonrpc":"2.0","method":"rpc.stream","params":{"method":"count","credit":1},"id":${id}}`;
    await server.command("send", { text: stream });
    await server.logOnce(([{ received }]) => received.some((text) => text.includes('"rpc.item"')));
    await server.command("send", { text: `{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":${id},"count":9}}` });
    const [{ received }] = await server.logOnce(([{ received }]) => received.some((text) => text.includes('"result"')));
    assert.deepEqual(
      received.map((text) => text.includes(`"id":${id}`)),
      [true, true, true],
    );
  });

  it("gets the error -32600 if a member of the envelope is repeated", async () => {
    const { answersTo } = await serving();
    const refused = [
      '{"jsonrpc":"2.0","method":"echo","id":1,"id":2}',
      '{"jsonrpc":"2.0","method":"echo","i\\u0064":1,"id":2}',
      '{"jsonrpc":"2.0","jsonrpc":"2.0","method":"echo","id":1}',
      '{"jsonrpc":"2.0","method":"none","method":"echo","id":1}',
      '{"jsonrpc":"2.0","method":"echo","params":[{"params":1}],"params":[2],"id":1}',
      '{"jsonrpc":"2.0","method":"echo","method":"echo"}',
    ];
    const answers = await answersTo(...refused);
    assert.equal(answers.length, refused.length);
    for (const text of answers) {
      const { error, id } = JSON.parse(text);
      assert.deepEqual([error.code, id], [-32600, null]);
    }
    // A name may be repeated in params, in strings, and in members outside of the envelope.
    const accepted = [
      request(1, "echo", ',"params":{"id":1,"method":"x","params":{"params":[{"id":2},{"id":3}]}}'),
      request(2, "echo", ',"params":["\\"id\\":1,\\"id\\":2","}","{\\"id\\"","\\\\"]'),
      request('"id"'),
      request(4, "echo", ',"other":1,"other":2'),
      `{"id":5,"jsonrpc":"2.0","params":{"a":"\\u0069"},"method":"echo"}`,
    ];
    for (const text of await answersTo(...accepted)) assert.property(JSON.parse(text), "result", text);
  });

  it("makes only its own call reject if it is a response with a repeated member", async () => {
    const { peer, server, answersTo } = await serving();
    const call = rejection(peer.request("never"));
    const otherCall = peer.request("never").catch(() => {});
    const log = await server.logOnce(
      ([{ received }]) => received.filter((text) => text.includes("never")).length === 2,
    );
    const { id } = JSON.parse(log[0].received.find((text) => text.includes("never")));
    await answersTo(`{"jsonrpc":"2.0","result":1,"result":2,"id":${id}}`);
    assert.equal((await call).reason, "unreadable-response");
    assert.equal(peer.pending, 1);
    peer.destroy();
    await otherCall;
  });

  describe("that is a response", () => {
    /** Starts a call without a response. Returns its outcome, its id, and the functions of `serving`. */
    async function calling(options) {
      const { peer, server, ...rest } = await serving();
      const call = peer.request("never", [], options);
      call.catch(() => {});
      const log = await server.logOnce(([{ received }]) => received.some((text) => text.includes("never")));
      const { id } = JSON.parse(log[0].received.find((text) => text.includes("never")));
      return { peer, server, call, id, ...rest };
    }

    for (const suffix of [".0", "e0", "0E-1", ".00000000000000000001"])
      it(`ends the call 1 if its id is 1${suffix}, alone and in a batch`, async () => {
        for (const isBatch of [false, true]) {
          const { peer, call, id, answersTo } = await calling();
          for (const otherId of [`${id}.5`, `-${id}.0`, `"${id}"`])
            await answersTo(`{"jsonrpc":"2.0","result":0,"id":${otherId}}`);
          assert.equal(peer.pending, 1);
          const response = `{"jsonrpc":"2.0","result":null,"id":${id}${suffix}}`;
          await answersTo(isBatch ? `[${response}]` : response);
          assert.equal(peer.pending, 0);
          assert.isNull(await call);
        }
      });

    it("ends the call 1 if its id is 1.0 and it has no result and no error", async () => {
      const { call, id, answersTo, peer } = await calling();
      await answersTo(`{"jsonrpc":"2.0","id":${id}.0}`);
      assert.equal(peer.pending, 0);
      assert.equal((await rejection(call)).reason, "invalid-response");
    });

    it("ends an idempotent call 1 if its id is 1.0: the call is not sent again", async () => {
      const { peer, server, session, call, id, answersTo } = await calling({ idempotent: true });
      await answersTo(`{"jsonrpc":"2.0","error":{"code":7,"message":"no"},"id":${id}.0}`);
      assert.equal(peer.pending, 0);
      assert.equal((await rejection(call)).code, 7);
      await server.command("terminate");
      await session(2);
      await peer.request("echo", []);
      const [, { received }] = await server.log();
      assert.isFalse(received.some((text) => text.includes("never")));
    });
  });

  it("ends the only pending call if the message cannot be parsed", async () => {
    const { peer, server, answersTo } = await serving();
    const call = rejection(peer.request("never"));
    await server.logOnce(([{ received }]) => received.some((text) => text.includes("never")));
    await answersTo('{"jsonrpc":"2.0","result":');
    assert.equal((await call).reason, "unreadable-response");
  });

  it("gets an error as a request, and ends its call as a response, if it is longer than maxMessage", async () => {
    const { answersTo, peer, server } = await serving({ maxMessage: 1_000 });
    const params = (length) => `,"params":["${"x".repeat(length)}"]`;
    const exact = request(1, "echo", params(1_000 - request(1, "echo", params(0)).length));
    assert.equal(exact.length, 1_000);
    const [accepted, refused] = await answersTo(exact, exact.replace("x", "xx"));
    assert.notInclude(accepted, "error");
    assert.deepEqual(JSON.parse(refused).error, {
      code: -32600,
      message: "Invalid Request",
      data: { reason: "oversize" },
    });
    const call = rejection(peer.request("never"));
    await server.logOnce(([{ received }]) => received.some((text) => text.includes("never")));
    await server.command("send", { text: `{"jsonrpc":"2.0","result":"${"x".repeat(1_000)}","id":1}` });
    assert.equal((await call).reason, "unreadable-response");
    const error = await rejection(peer.request("echo", ["x".repeat(1_000)]));
    assert.match(error.message, /maxMessage must be a number of characters, at least 10\d\d, got 1000/);
  });

  it("makes its call reject if the call has a transfer list, or params that JSON cannot express", async () => {
    const { peer } = await serving();
    const buffer = new ArrayBuffer(8);
    const error = await rejection(peer.request("echo", [buffer], { transfer: [buffer] }));
    assert.instanceOf(error, TypeError);
    assert.equal(buffer.byteLength, 8);
    const loop = {};
    loop.loop = loop;
    assert.instanceOf(await rejection(peer.request("echo", loop)), TypeError);
  });

  it("is cancelled, and gets no response over the next connection, if it is a request whose connection is lost", async () => {
    const { server, cancelled, session, peer } = await serving();
    await server.command("send", { text: request(1, "until-cancelled") });
    await peer.request("echo", []);
    await server.command("terminate");
    await until(() => cancelled.length === 1);
    assert.equal(cancelled[0].reason, "session-ended");
    await session(2);
    await peer.request("echo", []);
    const log = await server.log();
    assert.equal(log[1].received.filter((text) => text.includes('"error"')).length, 0);
  });
});
