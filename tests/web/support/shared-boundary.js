// Tests that apply to every kind of boundary: several clients and servers share one boundary, and are created and
// destroyed in any order.

import { assert } from "chai";
import { rejection, until } from "./outcomes.js";
import { JSONRPCClient, JSONRPCServer } from "./portway.js";

/** Returns a function that returns pseudo-random numbers from 0 to 1. Their sequence depends only on the seed. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffled(list, random) {
  const rest = [...list];
  return list.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]);
}

/** A client or a server on a boundary. The params of a client and the method name of a server contain `index`. */
class User {
  constructor(index, isClient, transport) {
    this.index = index;
    this.end = isClient
      ? new JSONRPCClient(transport)
      : new JSONRPCServer(transport).method(`own ${index}`, () => index);
    this.isClient = isClient;
  }

  /**
   * If this user is a server, checks that the peer can call its method. If this user is a client, makes four calls, and
   * checks that each call gets its own response. The peer responds after random delays, so in a random order.
   */
  async check(random, ask) {
    if (!this.isClient) return assert.equal(await ask(`own ${this.index}`), this.index);
    const values = [0, 1, 2, 3].map((n) => `user ${this.index} call ${n} ${random()}`);
    const calls = values.map((value) => this.end.request("later", [Math.floor(random() * 15), value]));
    assert.deepEqual(await Promise.all(calls), values);
  }
}

/**
 * In each round, creates clients and servers on a new boundary, checks them, and destroys them one by one. `open`
 * returns a boundary. Its function `transport()` creates another transport on this boundary. `ask(method)` makes the
 * peer call a method of this end, and `close()` closes the boundary.
 */
export async function checkSharedBoundary(open, seed, rounds) {
  const random = createRandom(seed);
  for (let round = 0; round < rounds; round++) {
    const boundary = await open();
    const count = 2 + Math.floor(random() * 4);
    // At least one user is a client.
    const kinds = shuffled([true, ...Array.from({ length: count - 1 }, () => random() < 0.5)], random);
    // Some transports are created long before their users.
    const transports = kinds.map(() => (random() < 0.3 ? boundary.transport() : undefined));
    const order = shuffled([...kinds.keys()], random);
    const users = order.map((index) => new User(index, kinds[index], transports[index] ?? boundary.transport()));
    let remaining = shuffled(users, random);
    try {
      while (remaining.length > 0) {
        await Promise.all(remaining.map((user) => user.check(random, boundary.ask)));
        // One user is destroyed while calls of the others are pending.
        const [destroyed, ...others] = remaining;
        const checks = others.map((user) => user.check(random, boundary.ask));
        destroyed.end.destroy();
        await Promise.all(checks);
        remaining = others;
      }
    } catch (error) {
      error.message += `; seed ${seed}, round ${round}, clients ${JSON.stringify(kinds)}, creation order ${order}`;
      throw error;
    } finally {
      for (const { end } of users) end.destroy();
      boundary.close();
    }
  }
}

/** Registers the tests of a kind of boundary. `open` is the same as for `checkSharedBoundary`. */
export function describeSharedBoundary(open) {
  it("each get their own responses if two to five of them are created and destroyed in any order", async () => {
    await checkSharedBoundary(open, 1 + Math.floor(Math.random() * 2 ** 31), 12);
  });

  it("send an error for an unknown method only if neither of two servers has the method", async () => {
    const { transport, ask, close } = await open();
    const servers = ["files", "build"].map((name) =>
      new JSONRPCServer(transport()).method(name, () => `${name} answered`),
    );
    assert.deepEqual(await Promise.all([ask("files"), ask("build")]), ["files answered", "build answered"]);
    assert.equal((await rejection(ask("neither"))).code, -32601);
    servers.forEach((server) => server.destroy());
    close();
  });

  it("do not affect each other's calls: one client cancels its call, and the call of another client continues", async () => {
    const { transport, close } = await open();
    const [firstClient, secondClient] = [new JSONRPCClient(transport()), new JSONRPCClient(transport())];
    const controller = new AbortController();
    const firstCall = firstClient.request("later", [60, "first"]);
    const secondCall = rejection(secondClient.request("later", [60, "second"], { signal: controller.signal }));
    controller.abort();
    assert.equal((await secondCall).name, "AbortError");
    assert.equal(await firstCall, "first");
    for (const client of [firstClient, secondClient]) client.destroy();
    close();
  });

  it("get no responses to the calls of another client that was destroyed earlier", async () => {
    const { transport, close } = await open();
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

  it("each receive a notification if they have a handler for it", async () => {
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
