// Several clients and servers on one boundary, created and destroyed in any order. The tests apply to every kind of
// boundary.

import { assert } from "chai";
import { rejection, until } from "./outcomes.js";
import { JSONRPCClient, JSONRPCServer } from "./portway.js";

/** Returns a generator of numbers between 0 and 1. The sequence depends only on the seed. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffled(list, next) {
  const rest = [...list];
  return list.map(() => rest.splice(Math.floor(next() * rest.length), 1)[0]);
}

/** A client or a server on a boundary. Its calls and the name of its method contain `index`. */
class User {
  constructor(index, isClient, transport) {
    this.index = index;
    this.end = isClient
      ? new JSONRPCClient(transport)
      : new JSONRPCServer(transport).method(`own ${index}`, () => index);
    this.isClient = isClient;
  }

  /** Makes calls whose responses arrive in another order, and checks that each call gets its own response. */
  async check(next, ask) {
    if (!this.isClient) return assert.equal(await ask(`own ${this.index}`), this.index);
    const values = [0, 1, 2, 3].map((n) => `user ${this.index} call ${n} ${next()}`);
    const calls = values.map((value) => this.end.request("later", [Math.floor(next() * 15), value]));
    assert.deepEqual(await Promise.all(calls), values);
  }
}

/**
 * Runs the rounds. `open` returns a boundary: `transport()` creates another transport on it, `ask(method)` makes the
 * peer call a method of this end, and `close()` closes the boundary.
 */
export async function checkSharedBoundary(open, seed, rounds) {
  const next = random(seed);
  for (let round = 0; round < rounds; round++) {
    const boundary = await open();
    const count = 2 + Math.floor(next() * 4);
    // `ask` needs a server, and at least one user must be a client.
    const kinds = shuffled([true, ...Array.from({ length: count - 1 }, () => next() < 0.5)], next);
    // Some transports are created long before their users.
    const transports = kinds.map(() => (next() < 0.3 ? boundary.transport() : undefined));
    const order = shuffled([...kinds.keys()], next);
    const users = order.map((index) => new User(index, kinds[index], transports[index] ?? boundary.transport()));
    let left = shuffled(users, next);
    try {
      while (left.length > 0) {
        await Promise.all(left.map((user) => user.check(next, boundary.ask)));
        // One user is destroyed while calls of the others are pending.
        const [gone, ...others] = left;
        const checks = others.map((user) => user.check(next, boundary.ask));
        gone.end.destroy();
        await Promise.all(checks);
        left = others;
      }
    } catch (error) {
      error.message += `; seed ${seed}, round ${round}, clients ${JSON.stringify(kinds)}, made ${order}`;
      throw error;
    } finally {
      for (const { end } of users) end.destroy();
      boundary.close();
    }
  }
}

/** Tests of single rules. `open` is the same as for `checkSharedBoundary`. */
export function describeSharedBoundary(open) {
  it("two to five clients and servers, created and destroyed in any order, each get their own responses", async () => {
    await checkSharedBoundary(open, 1 + Math.floor(Math.random() * 2 ** 31), 12);
  });

  it("a method is unknown only if neither of two servers has it", async () => {
    const { transport, ask, close } = await open();
    const servers = ["files", "build"].map((name) =>
      new JSONRPCServer(transport()).method(name, () => `${name} answered`),
    );
    assert.deepEqual(await Promise.all([ask("files"), ask("build")]), ["files answered", "build answered"]);
    assert.equal((await rejection(ask("neither"))).code, -32601);
    servers.forEach((server) => server.destroy());
    close();
  });

  it("a client that cancels its call does not affect the call of another client", async () => {
    const { transport, close } = await open();
    const [one, other] = [new JSONRPCClient(transport()), new JSONRPCClient(transport())];
    const stop = new AbortController();
    const stays = one.request("later", [60, "first"]);
    const goes = rejection(other.request("later", [60, "second"], { signal: stop.signal }));
    stop.abort();
    assert.equal((await goes).name, "AbortError");
    assert.equal(await stays, "first");
    for (const client of [one, other]) client.destroy();
    close();
  });

  it("a client that is created after another was destroyed does not get responses to the other's calls", async () => {
    const { transport, close } = await open({ keep: true });
    const first = new JSONRPCClient(transport());
    const spare = transport();
    rejection(first.request("later", [20, "late"]));
    first.destroy();
    const second = new JSONRPCClient(spare);
    const answers = await Promise.all([30, 0].map((ms) => second.request("later", [ms, ms])));
    assert.deepEqual(answers, [30, 0]);
    second.destroy();
    close();
  });

  it("a notification reaches each server that has a handler for it", async () => {
    const { transport, notify, close } = await open();
    if (notify === undefined) return close();
    const received = [];
    const servers = [1, 2, 3].map((n) => new JSONRPCServer(transport()));
    servers[0].onNotify("note", (params) => received.push(["first", ...params]));
    servers[2].onNotify("note", (params) => received.push(["third", ...params]));
    notify("note", [7]);
    await until(() => received.length === 2, "a server did not receive the notification");
    assert.sameDeepMembers(received, [
      ["first", 7],
      ["third", 7],
    ]);
    servers.forEach((server) => server.destroy());
    close();
  });
}
