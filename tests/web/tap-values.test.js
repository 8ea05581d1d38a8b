// The descriptions of values in the records of a tap, and the limits of a tap for values and texts.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, portTransport } from "./support/portway.js";
import { collected, tap } from "./support/taps.js";
import { recorder as recordingTransport } from "./support/transports.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection } from "./support/outcomes.js";

const MAX_DEPTH = 100;
const MAX_VALUES = 100_000;
const MAX_CHARACTERS = 262_144;

/** Returns a client on a tapped transport that accepts any value, and the records of the tap. */
function tappedClient(options) {
  const transport = recordingTransport();
  const found = collected({ maxBytes: 2 ** 26, ...options });
  const client = new JSONRPCClient(tap(transport, { sink: found.recorder }), { onError() {} });
  afterThisTest(() => client.destroy());
  return { ...found, client, transport };
}

/** Returns the description of a value as the params of a notification, and the text of its record. */
async function described(params) {
  const { client, untilMessages } = tappedClient();
  client.notify("note", params);
  const [{ text }] = await untilMessages(1);
  return { description: JSON.parse(text).params, text };
}

const descriptionOf = async (value) => (await described([value])).description[0];

describe("the description of a value", () => {
  const buffer = new Uint8Array([1, 2, 3, 4]).buffer;
  const cycle = { name: "a" };
  cycle.self = { inner: cycle };
  const cases = [
    ["null and JSON values", [null, true, 1.5, "a", { b: [] }], [null, true, 1.5, "a", { b: [] }]],
    ["undefined", undefined, { $type: "undefined" }],
    ["holes of arrays", [1, , undefined], [1, { $type: "hole" }, { $type: "undefined" }]],
    [
      "numbers that JSON lacks",
      [NaN, Infinity, -Infinity, -0],
      ["NaN", "Infinity", "-Infinity", "-0"].map((value) => ({ $type: "number", value })),
    ],
    ["bigints", -12n, { $type: "bigint", value: "-12" }],
    [
      "dates",
      [new Date(0), new Date(NaN)],
      [
        { $type: "Date", value: "1970-01-01T00:00:00.000Z" },
        { $type: "Date", value: null },
      ],
    ],
    ["maps", new Map([[{ k: 1 }, [2]]]), { $type: "Map", entries: [[{ k: 1 }, [2]]] }],
    ["sets", new Set([1, "a"]), { $type: "Set", values: [1, "a"] }],
    ["buffers", buffer, { $type: "ArrayBuffer", length: 4, bytes: "AQIDBA==" }],
    ["views", new Uint16Array(buffer, 2, 1), { $type: "Uint16Array", length: 1, bytes: "AwQ=" }],
    ["regular expressions", /a\/b/g, { $type: "RegExp", value: "/a\\/b/g" }],
    ["errors", new TypeError("wrong"), { $type: "Error", name: "TypeError", message: "wrong" }],
    ["cycles", cycle, { name: "a", self: { inner: { $type: "cycle" } } }],
    [
      "objects with a member $type",
      { $type: 1, a: 2 },
      {
        $type: "Object",
        entries: [
          ["$type", 1],
          ["a", 2],
        ],
      },
    ],
    ["functions and symbols", [() => {}, Symbol("s")], [{ $type: "function" }, { $type: "symbol" }]],
    ["other objects", new URL("https://example.org"), { $type: "URL" }],
    [
      "objects of classes",
      new (class A {
        b = 1;
      })(),
      { b: 1 },
    ],
    ["objects without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["values that occur twice", [[cycle.name], cycle.name], [["a"], "a"]],
  ];
  for (const [title, value, expected] of cases)
    it(`has its documented form: ${title}`, async () => {
      assert.deepEqual(await descriptionOf(value), expected);
    });

  it("has its documented form: ports", async () => {
    const { port1 } = new MessageChannel();
    assert.deepEqual(await descriptionOf(port1), { $type: "MessagePort" });
    port1.close();
  });

  it("contains own members with the name __proto__, and lone surrogates", async () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":"\\ud800"}');
    const { text } = await described([value]);
    assert.include(text, '{"__proto__":{"a":1},"b":"\\ud800"}');
  });

  it("is made with one read of each getter", async () => {
    let reads = 0;
    const value = {
      get a() {
        reads++;
        return { b: 1 };
      },
    };
    assert.deepEqual(await descriptionOf(value), { a: { b: 1 } });
    assert.equal(reads, 1);
  });

  it("has only the type `unreadable` if the value cannot be read, and the message is still sent", async () => {
    const throwing = {
      get a() {
        throw new Error("no");
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    for (const value of [throwing, proxy, trap]) {
      const { client, transport, untilMessages } = tappedClient();
      client.notify("note", [value]);
      const [{ text }] = await untilMessages(1);
      assert.equal(text, '{"$type":"unreadable"}');
      assert.equal(transport.sent[0].params[0], value);
    }
  });

  it("uses no method toJSON", async () => {
    const value = { toJSON: () => "replaced", a: 1 };
    assert.deepEqual(await descriptionOf(value), { toJSON: { $type: "function" }, a: 1 });
  });

  it("is short for a value of 100 000 levels; a tapped port still works after such a value", async () => {
    let deep = 1;
    for (let n = 0; n < 100_000; n++) deep = [deep];
    const { text } = await described(deep);
    assert.isBelow(text.length, 1_000);
    const { port1, port2 } = new MessageChannel();
    const found = collected();
    const near = new JSONRPCPeer(tap(portTransport(port1), { sink: found.recorder }), { onError() {} });
    const far = new JSONRPCPeer(portTransport(port2)).method("ok", () => "ok");
    afterThisTest(() => [near, far].forEach((peer) => peer.destroy()));
    // An engine may refuse to clone this value.
    await rejection(near.request("missing", deep));
    assert.equal(await near.request("ok"), "ok");
    await found.untilMessages(2);
  });
});

describe("in the records of a tap,", () => {
  it("values that are nested deeper than 100 levels are omitted", async () => {
    // The message and its params are the first two levels.
    const nested = (levels) => {
      let value = 1;
      for (let n = 0; n < levels; n++) value = [value];
      return value;
    };
    const { text } = await described(nested(MAX_DEPTH - 1));
    assert.notInclude(text, "omitted");
    assert.include((await described(nested(MAX_DEPTH))).text, '[{"$type":"omitted"}]');
  });

  it("at most 100 000 values of a message are described", async () => {
    // A value that occurs several times is described each time.
    const leaf = Array(300).fill(null);
    const { description, text } = await described(Array(400).fill(leaf));
    const count = text.split("null").length - 1;
    assert.closeTo(count, Math.min(MAX_VALUES, MAX_CHARACTERS / 5), 2_000);
    assert.deepEqual(description.at(-1), { $type: "omitted" });
    assert.isAtMost(text.length, MAX_CHARACTERS * 1.01);
    const ofEmptyTexts = await described(Array(400).fill(Array(300).fill("")));
    assert.isAtMost(ofEmptyTexts.text.split('""').length - 1, MAX_VALUES);
  });

  it("a text is cut after 262 144 characters of the record, and later values are omitted", async () => {
    const fits = "a".repeat(MAX_CHARACTERS - 1_000);
    assert.deepEqual(await descriptionOf(fits), fits);
    const { length, value, $type } = await descriptionOf("b".repeat(MAX_CHARACTERS + 1));
    assert.deepEqual([$type, length], ["string", MAX_CHARACTERS + 1]);
    assert.closeTo(value.length, MAX_CHARACTERS, 1_000);
    assert.match(value, /^b+$/);
    const [first, second, third] = (await described([fits, "c".repeat(MAX_CHARACTERS), { d: 1 }])).description;
    assert.equal(first, fits);
    assert.equal(second.$type, "string");
    assert.deepEqual(third, { $type: "omitted" });
    const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`member ${n}`, "x"]));
    const object = await descriptionOf(members);
    assert.equal(object.$type, "omitted");
    assert.equal(object["member 0"], "x");
    assert.isBelow(Object.keys(object).length, 50_000);
  });

  it("a text of control characters takes at most twice 262 144 characters", async () => {
    const { text } = await described(["\u0000".repeat(MAX_CHARACTERS)]);
    assert.isAtMost(text.length, MAX_CHARACTERS * 2);
  });

  it("a buffer is described by its length and its first 64 bytes", async () => {
    for (const length of [63, 64, 65, 100_000]) {
      const description = await descriptionOf(new Uint8Array(length).fill(1));
      assert.equal(description.length, length);
      assert.equal(atob(description.bytes).length, Math.min(length, 64));
    }
  });

  it("a message of 1 MB takes at most about 262 144 characters", async () => {
    const { client, transport, untilMessages } = tappedClient();
    const params = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `name ${id}`, tags: ["a", "b"] }));
    client.notify("note", params);
    const [{ text }] = await untilMessages(1);
    assert.isAtMost(text.length, MAX_CHARACTERS * 1.01);
    // The record has the first values as they are, and the transport has the whole message.
    const description = JSON.parse(text).params;
    assert.deepEqual(description.at(-1), { $type: "omitted" });
    assert.deepEqual(description.slice(0, 1_000), params.slice(0, 1_000));
    assert.deepEqual(transport.sent.at(-1).params, params);
  });
});
