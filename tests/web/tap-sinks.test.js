// The sinks of a tap: functions, ports and channels, and readers that are slow, stop or fail.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCServer } from "./support/portway.js";
import { TapRecorder, collected, readTaps, tap } from "./support/taps.js";
import { channel, recorder as recordingTransport } from "./support/transports.js";
import { afterThisTest } from "./support/cleanup.js";
import { printed } from "./support/console.js";
import { deferred, isPending, until } from "./support/outcomes.js";

const MEBIBYTE = 1_048_576;

/** Returns a client on a tapped port, and the function `echo`, which makes a call that the peer answers. */
function tappedClient(sink) {
  const { near, far } = channel();
  const client = new JSONRPCClient(tap(near, { sink }));
  const server = new JSONRPCServer(far).method("echo", ([value]) => value);
  afterThisTest(() => [client, server].forEach((one) => one.destroy()));
  return { client, echo: (value) => client.request("echo", [value]) };
}

/** Returns a recorder, which is destroyed after the test. */
function createRecorder(options) {
  const recorder = new TapRecorder(options);
  afterThisTest(() => recorder.destroy());
  return recorder;
}

const messagesOf = (records) => records.filter(({ kind }) => kind === "message");

describe("a function as a sink", () => {
  it("is called with batches, in tasks of its own", async () => {
    const batches = [];
    const { client } = tappedClient(createRecorder({ sink: (records) => void batches.push(records) }));
    const calls = [1, 2, 3].map((n) => client.request("echo", [n]));
    assert.equal(batches.length, 0);
    await Promise.all(calls);
    await until(() => messagesOf(batches.flat()).length === 6);
    assert.isBelow(batches.length, 7);
  });

  it("may throw or reject: the error is reported, and the calls and the records continue", async () => {
    const errors = [];
    const records = [];
    let count = 0;
    const sink = (batch) => {
      records.push(...batch);
      if (++count % 2 === 0) return Promise.reject(new Error("rejected"));
      throw new Error("thrown");
    };
    const { echo } = tappedClient(createRecorder({ sink, onError: (error) => errors.push(error.message) }));
    for (let n = 1; n <= 4; n++) {
      assert.equal(await echo(n), n);
      await until(() => messagesOf(records).length === 2 * n);
    }
    await until(() => errors.length === count);
    assert.includeMembers(errors, ["thrown", "rejected"]);
  });

  it("may throw: by default, the error is logged; an error of onError is also logged", async () => {
    // After the test, the sink also gets the record of the link's end. No test expects a printed line at that time, so
    // the sink throws only once.
    const throwingOnce = () => {
      let isFirst = true;
      return () => {
        if (!isFirst) return;
        isFirst = false;
        throw new Error("thrown");
      };
    };
    const lines = await printed(async (lines) => {
      const onError = () => {
        throw new Error("in onError");
      };
      for (const options of [{}, { onError }])
        assert.equal(await tappedClient(createRecorder({ sink: throwingOnce(), ...options })).echo(1), 1);
      await until(() => lines.length >= 3);
    });
    assert.include(lines.join("\n"), "thrown");
    assert.include(lines.join("\n"), "in onError");
  });

  it("gets copies of the records: a change of a copy affects neither the messages nor other recorders", async () => {
    const one = collected();
    const changing = createRecorder({
      sink: (records) => records.forEach((record) => Object.assign(record, { text: "x" })),
    });
    const { near, far } = channel();
    const client = new JSONRPCClient(tap(tap(near, { sink: changing }), { sink: one.recorder }));
    const server = new JSONRPCServer(far).method("echo", (params) => params);
    afterThisTest(() => [client, server].forEach((end) => end.destroy()));
    assert.deepEqual(await client.request("echo", [1]), [1]);
    const [first] = await one.untilMessages(2);
    assert.include(first.text, "echo");
  });

  it("gets the next batch when its promise is settled", async () => {
    const taken = [];
    let { promise, resolve } = deferred();
    const { echo } = tappedClient(
      createRecorder({
        sink(records) {
          taken.push(records);
          return promise;
        },
      }),
    );
    await echo(1);
    await until(() => taken.length === 1);
    await echo(2);
    assert.ok(
      await isPending(
        until(() => taken.length === 2),
        60,
      ),
    );
    promise = undefined;
    resolve();
    await until(() => messagesOf(taken.flat()).length === 4);
  });
});

describe("a recorder", () => {
  it("buffers at most 1 MiB of records, and counts the omitted messages in gaps", async () => {
    const records = [];
    const { promise, resolve } = deferred();
    const { echo } = tappedClient(
      createRecorder({
        sink(batch) {
          records.push(...batch);
          return promise;
        },
      }),
    );
    const text = "x".repeat(1_000);
    const calls = 2_000;
    for (let n = 0; n < calls; n += 100) await Promise.all(Array.from({ length: 100 }, () => echo(text)));
    resolve();
    const gaps = () => records.filter(({ kind }) => kind === "gap");
    const counted = () => gaps().reduce((sum, { messages }) => sum + messages, messagesOf(records).length);
    await until(() => counted() === 2 * calls);
    const bufferedBytes = messagesOf(records).reduce((sum, { text }) => sum + 2 * text.length, 0);
    assert.isAtMost(bufferedBytes, MEBIBYTE);
    assert.isAtLeast(bufferedBytes, 0.7 * MEBIBYTE);
    assert.sameMembers(
      gaps().map(({ direction }) => direction),
      ["sent", "received"],
    );
    for (const { at } of gaps()) assert.closeTo(at / 1_000, Date.now(), 30_000);
    // The recording continues after the gap.
    await echo("after the gap");
    await until(() => counted() === 2 * calls + 2);
    assert.include(records.at(-1).text, "after the gap");
  }).timeout(30_000);

  it("buffers at most 1 MiB of records for a port without a reader, and the calls continue", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    const { echo } = tappedClient(createRecorder({ sink: port1 }));
    const text = "x".repeat(10_000);
    for (let n = 0; n < 500; n++) assert.equal(await echo(text), text);
    const records = [];
    afterThisTest(readTaps(port2, (batch) => void records.push(...batch)));
    await until(() => records.some(({ kind }) => kind === "gap"));
    assert.isAtMost(
      messagesOf(records).reduce((sum, { text }) => sum + 2 * text.length, 0),
      MEBIBYTE,
    );
  }).timeout(30_000);

  it("keeps the record `close` if maxBytes is 0, and counts all messages in gaps", async () => {
    const records = [];
    const { promise, resolve } = deferred();
    const recorder = createRecorder({
      maxBytes: 0,
      sink(batch) {
        records.push(...batch);
        return promise;
      },
    });
    const { echo, client } = tappedClient(recorder);
    await echo(1);
    client.destroy();
    resolve();
    await until(() => records.some(({ kind }) => kind === "close"));
    const gaps = records.filter(({ kind }) => kind === "gap");
    assert.equal(
      gaps.reduce((sum, { messages }) => sum + messages, 0),
      2,
    );
    assert.equal(records.at(-1).kind, "close");
    assert.equal(messagesOf(records).length, 0);
  });

  it("throws a RangeError if maxBytes is invalid", () => {
    for (const maxBytes of [-1, NaN, "x"])
      assert.throws(() => new TapRecorder({ sink() {}, maxBytes }), RangeError, "maxBytes must be");
  });

  it("records only the first part of a string of 5 MB, and the length of the whole string", async () => {
    const found = collected();
    const transport = recordingTransport();
    const client = new JSONRPCClient(tap(transport, { sink: found.recorder }));
    afterThisTest(() => client.destroy());
    client.notify("note", ["x".repeat(5_000_000)]);
    const [{ text }] = await found.untilMessages(1);
    assert.isBelow(text.length, 300_000);
    assert.equal(JSON.parse(text).params[0].length, 5_000_000);
    assert.equal(transport.sent[0].params[0].length, 5_000_000);
  });
});

describe("a reader at a port", () => {
  it("gets all records in order", async () => {
    const { port1, port2 } = new MessageChannel();
    afterThisTest(() => [port1, port2].forEach((port) => port.close()));
    const records = [];
    afterThisTest(readTaps(port2, (batch) => void records.push(...batch)));
    const { echo } = tappedClient(createRecorder({ sink: port1 }));
    for (let n = 0; n < 1_000; n += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => echo(n + k)));
    await until(() => messagesOf(records).length === 2_000);
    const sent = messagesOf(records).filter(({ direction }) => direction === "sent");
    sent.forEach(({ text }, n) => assert.equal(JSON.parse(text).params[0], n));
  }).timeout(30_000);
});

describe("a reader at a channel", () => {
  const newName = () => `tap ${Math.random()}`;

  it("gets all records, whether it begins before or after the recorder", async () => {
    for (const isFirst of [true, false]) {
      const name = newName();
      const records = [];
      const read = () => afterThisTest(readTaps(name, (batch) => void records.push(...batch)));
      if (isFirst) read();
      const { echo } = tappedClient(createRecorder({ sink: name }));
      assert.equal(await echo(1), 1);
      if (!isFirst) read();
      await until(() => messagesOf(records).length === 2);
      assert.equal(records[0].kind, "open");
      assert.equal(await echo(2), 2);
      await until(() => messagesOf(records).length === 4);
    }
  });

  it("reads several recorders at once", async () => {
    const name = newName();
    const records = [];
    afterThisTest(readTaps(name, (batch) => void records.push(...batch)));
    const clients = [1, 2, 3].map(() => tappedClient(createRecorder({ sink: name })));
    await Promise.all(clients.map(({ echo }, n) => echo(n)));
    await until(() => messagesOf(records).length === 6);
    assert.equal(new Set(records.map(({ link }) => link)).size, 3);
  });

  it("replaces an earlier reader, and gets the record `open` of each link", async () => {
    const name = newName();
    const [first, second] = [[], []];
    afterThisTest(readTaps(name, (batch) => void first.push(...batch)));
    const { echo } = tappedClient(createRecorder({ sink: name }));
    await echo(1);
    await until(() => messagesOf(first).length === 2);
    afterThisTest(readTaps(name, (batch) => void second.push(...batch)));
    await until(() => second.length === 1);
    assert.equal(second[0].kind, "open");
    await echo(2);
    await until(() => messagesOf(second).length === 2);
    assert.equal(messagesOf(first).length, 2);
  });

  it("that stops without a goodbye causes no loss: the next reader gets all records", async () => {
    const name = newName();
    const stuck = deferred();
    const [first, second] = [[], []];
    afterThisTest(
      readTaps(name, (batch) => {
        first.push(...batch);
        return stuck.promise;
      }),
    );
    const { echo } = tappedClient(createRecorder({ sink: name }));
    await echo(1);
    await until(() => first.length > 0);
    await echo(2);
    afterThisTest(readTaps(name, (batch) => void second.push(...batch)));
    await until(() => messagesOf(second).length === 4);
    stuck.resolve();
  });

  it("gets the records until the recorder is destroyed", async () => {
    const name = newName();
    const records = [];
    afterThisTest(readTaps(name, (batch) => void records.push(...batch)));
    const recorder = createRecorder({ sink: name });
    const { echo } = tappedClient(recorder);
    await echo(1);
    recorder.destroy();
    await until(() => records.at(-1)?.kind === "close");
    await echo(2);
    assert.equal(messagesOf(records).length, 2);
  });

  it("logs an error of its function, and continues", async () => {
    const name = newName();
    const records = [];
    const lines = await printed(async (lines) => {
      afterThisTest(
        readTaps(name, (batch) => {
          records.push(...batch);
          if (messagesOf(records).length <= 4) throw new Error("in the reader");
        }),
      );
      const { echo } = tappedClient(createRecorder({ sink: name }));
      await echo(1);
      await until(() => messagesOf(records).length === 2);
      await echo(2);
      await until(() => messagesOf(records).length === 4 && lines.length >= 2);
    });
    assert.include(lines.join("\n"), "in the reader");
    assert.throws(() => readTaps(name, 5), TypeError, "onRecords must be a function");
  });
});
