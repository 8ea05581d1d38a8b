// The build shortens the names of internal members to one or two letters. An application's objects may have members
// with the same names. The library neither reads nor sets these members.

import { assert } from "chai";
import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, packaged } from "./support/portway.js";
import { loopback } from "./support/transports.js";
import { until } from "./support/outcomes.js";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_"];
const NAMES = LETTERS.flatMap((one) => [one, ...LETTERS.map((other) => one + other)]).filter((name) => name !== "id");

/** Creates prototypes with an accessor for each short name, and records each use of these accessors. */
class Recorder {
  uses = new Set();

  /** Returns a prototype with the accessors. `owner` names the kind of its objects in the records. */
  prototype(base, owner) {
    const prototype = Object.create(base);
    for (const name of NAMES) {
      Object.defineProperty(prototype, name, {
        get: () => void this.uses.add(`reads ${name} of a ${owner}`),
        set: () => void this.uses.add(`sets ${name} of a ${owner}`),
      });
    }
    return prototype;
  }

  /** Returns an object that has these members and inherits the accessors. */
  object(owner, members) {
    return Object.assign(Object.create(this.prototype(Object.prototype, owner)), members);
  }

  /** Returns a subclass whose objects inherit the accessors. */
  subclass(Class, owner) {
    class Own extends Class {}
    Object.setPrototypeOf(Own.prototype, this.prototype(Class.prototype, owner));
    return Own;
  }
}

/** Uses a server, a client and a peer of an application's own classes in all ways, and then destroys them. */
async function useEverything({ JSONRPCServer, JSONRPCClient, JSONRPCPeer }, recorder, coalesce) {
  const { near, far } = loopback();
  for (const end of [near, far]) Object.setPrototypeOf(end, recorder.prototype(Object.prototype, "transport"));
  const object = (owner, members) => recorder.object(owner, members);
  const options = () => object("options", { coalesce, onError() {}, errorData: () => object("data", { kind: 1 }) });
  const Server = recorder.subclass(JSONRPCServer, "server");
  const servers = [new Server(far, options()), new Server(far, options())];
  const client = new (recorder.subclass(JSONRPCClient, "client"))(near, options());
  const peer = new (recorder.subclass(JSONRPCPeer, "peer"))(near, options());
  const notes = [];
  peer.onNotify("note", (_, { method }) => notes.push(method));
  servers[0]
    .method("echo", () => object("result", { value: 1 }))
    .method("fail", () => {
      throw Object.setPrototypeOf(new Error("no"), recorder.prototype(Error.prototype, "error"));
    })
    .method("items", async function* (_, context) {
      context.transfer([]);
      yield object("item", { value: 1 });
      yield object("item", { value: 2 });
    })
    .method("work", async (_, context) => {
      context.progress(object("progress", { value: 1 }));
      context.notify("note", object("params", { value: 1 }), object("options", {}));
      await context.yield();
      return context.signal.aborted;
    });
  for (const server of servers) server.onNotify("both", (_, context) => context.notify("note"));
  const progress = [];
  const onProgress = (value) => void progress.push(value);
  await client.request("work", object("params", { value: 1 }), object("options", { onProgress }));
  assert.lengthOf(progress, 1);
  assert.equal((await client.request("echo")).value, 1);
  for (const method of ["fail", "missing"]) await client.request(method).catch(() => {});
  const seen = [];
  for await (const { value } of client.stream("items", undefined, object("options", { window: 1 }))) seen.push(value);
  assert.deepEqual(seen, [1, 2]);
  await client.batch([object("call", { method: "echo" }), object("call", { method: "both", notify: true })]);
  await until(() => notes.length === 3, "a notification is missing");
  for (const end of [...servers, client, peer]) end.destroy();
}

describe("an application's own members with short names", () => {
  const libraries = {
    "the module": () => ({ JSONRPCServer, JSONRPCClient, JSONRPCPeer }),
    "the module that contains the wasm": async () => {
      const inline = await import(packaged("inline.js"));
      await inline.default();
      return inline;
    },
  };
  for (const [name, load] of Object.entries(libraries)) {
    for (const coalesce of [false, true, "columns"]) {
      it(`are neither read nor set by ${name}, with coalesce: ${coalesce}`, async () => {
        const recorder = new Recorder();
        await useEverything(await load(), recorder, coalesce);
        // The test itself uses no short name, so each recorded use is a use by the library.
        assert.deepEqual([...recorder.uses], []);
      });
    }
  }
});
