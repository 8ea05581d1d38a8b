// Guests that are child processes.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { JSONRPCClient, JSONRPCPeer, packaged } from "./support/portway.js";
import { CALL, CLOSE, DATA, WipcChannel, assertClosed, encodeWipc, text } from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { pause, rejection, until } from "./support/outcomes.js";

const { spawnGuest } = await import(packaged("wipc-node.js"));

function fixture(file) {
  return fileURLToPath(new URL(`fixtures/${file}`, import.meta.url));
}

/** Starts the guest `fixtures/wipc-guest.mjs`, whose first argument selects its behaviour. */
async function guestOf(args, options) {
  const guest = await spawnGuest(process.execPath, [fixture("wipc-guest.mjs"), ...[args].flat()], options);
  afterThisTest(() => guest.kill());
  return guest;
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a guest that is a child process", () => {
  it("responds to calls, calls a method of the host, and sends data back", async () => {
    const seen = [];
    const guest = await guestOf("echo", {
      onOpen: (payload) => seen.push(text(payload)),
      onData: (payload) => seen.push(payload.length),
    });
    const peer = new JSONRPCPeer(guest.transport()).method("answer", ([n]) => n + 1);
    assert.deepEqual(await peer.request("echo", [1, "zwei"]), [1, "zwei"]);
    assert.equal(await peer.request("ask", [41]), 42);
    assert.equal(await peer.request("pid"), guest.pid);
    await guest.channel.send(DATA, new Uint8Array(5));
    await until(() => seen.length === 2);
    assert.deepEqual(seen, ["ready", 5]);
    assert.deepEqual(await guest.close(), { code: 0, signal: null });
    assert.deepEqual(await guest.channel.ended, { closed: false, error: undefined });
  });

  for (const [when, title] of [
    ["at once", "the first turn"],
    ["later", "a later turn"],
    ["later, together", "a later turn, with messages that are sent together"],
  ]) {
    it(`may send messages and exit in the same turn, and all messages are delivered: ${title}`, async () => {
      const data = [];
      const notes = [];
      const guest = await guestOf(["exitAfterSending", when], { onData: (payload) => data.push(text(payload)) });
      new JSONRPCPeer(guest.transport()).onNotify("note", ([n]) => void notes.push(n));
      assert.deepEqual(await guest.exited, { code: 7, signal: null });
      await guest.channel.ended;
      await until(() => notes.length === 5);
      assert.deepEqual(
        [data, notes],
        [
          ["1", "2", "3", "4", "5"],
          [1, 2, 3, 4, 5],
        ],
      );
    });
  }

  it("may print text between its frames, and no text or frame is lost", async () => {
    let printed = "";
    const frames = [];
    const guest = await guestOf("print", {
      onData: (payload) => frames.push(text(payload)),
      onPassthrough: (bytes) => (printed += text(bytes)),
    });
    assert.deepEqual(await guest.channel.ended, { closed: true, error: undefined });
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    assert.deepEqual(frames, numbers.map(String));
    assert.equal(printed, numbers.map((n) => `line ${n} about WIPC\nWIP`).join(""));
    assert.deepEqual(await guest.exited, { code: 0, signal: null });
  });

  it("can exchange 10 MB in each direction at once without a deadlock", async () => {
    let received = 0;
    const guest = await guestOf("echo", {
      onData: (payload) => (received += payload.every((byte) => byte === payload[0]) ? payload.length : NaN),
    });
    for (let n = 0; n < 20; n++) guest.channel.send(DATA, new Uint8Array(1 << 19).fill(n));
    await until(() => received === 20 << 19);
    const large = new Uint8Array(10 << 20).fill(7);
    guest.channel.send(DATA, large);
    await until(() => received === (20 << 19) + large.length);
    assert.deepEqual(await guest.close(), { code: 0, signal: null });
  });

  it("accepts large params and returns large results", async () => {
    const guest = await guestOf("echo");
    const client = new JSONRPCClient(guest.transport());
    const [large] = await client.request("echo", ["ä".repeat(2 << 20)]);
    assert.equal(large.length, 2 << 20);
    await guest.close();
  });

  it("accepts thousands of small frames, in order", async () => {
    const seen = [];
    const guest = await guestOf("echo", { onData: (payload) => seen.push(Number(text(payload))) });
    for (let n = 0; n < 20_000; n++) guest.channel.send(DATA, String(n));
    await until(() => seen.length === 20_000);
    assert.isTrue(seen.every((n, at) => n === at));
    await guest.close();
  });

  it("may exit in the middle of a frame: the incomplete frame is passed on as text, and reported", async () => {
    const events = [];
    const guest = await guestOf("cut", {
      onData: (payload) => events.push(text(payload)),
      onPassthrough: (bytes) => events.push(bytes.length),
      onTruncated: (size) => events.push({ size }),
    });
    await guest.channel.ended;
    assert.deepEqual(events, ["whole", 9, 3, { size: 12 }]);
    assert.deepEqual(await guest.exited, { code: 3, signal: null });
  });

  it("runs in the folder and with the environment of its options", async () => {
    const script = `process.stdout.write(JSON.stringify([process.cwd(), process.env.GREETING]))`;
    let printed = "";
    const options = { cwd: "/", env: { GREETING: "hello" }, onPassthrough: (bytes) => (printed += text(bytes)) };
    const guest = await spawnGuest(process.execPath, ["-e", script], options);
    await guest.channel.ended;
    assert.deepEqual(JSON.parse(printed), ["/", "hello"]);
  });

  it("may be a program without WIPC", async () => {
    let printed = "";
    const guest = await spawnGuest("cat", [], { onPassthrough: (bytes) => (printed += text(bytes)), onData: () => {} });
    guest.channel.send(DATA, "abc");
    assert.deepEqual(await guest.close(), { code: 0, signal: null });
    await guest.channel.ended;
    assert.equal(printed, "");
  });

  it("cannot create a second channel in its process", async () => {
    const guest = await guestOf("echo");
    const client = new JSONRPCClient(guest.transport());
    assert.include((await rejection(client.request("again"))).message, "already a guest");
    await guest.close();
  });

  it("may close its input long before it exits: calls of the host then fail within 2.5 s", async () => {
    let isReady = false;
    const guest = await guestOf("closeInput", { onOpen: () => (isReady = true) });
    await until(() => isReady);
    const client = new JSONRPCClient(guest.transport());
    const start = performance.now();
    for (let error; error === undefined; await pause(10)) {
      error = await Promise.race([rejection(client.request("a", [], { timeout: 0 })), pause(20)]);
    }
    assert.isBelow(performance.now() - start, 2_500);
    guest.kill();
  });
});

describe("a guest that cannot be started", () => {
  it("makes spawnGuest reject with the reason", async () => {
    const { message, cause } = await rejection(spawnGuest("no-such-command", ["x"]));
    assert.include(message, "no-such-command cannot be started");
    assert.equal(cause.code, "ENOENT");
    assert.include(
      (await rejection(spawnGuest(process.execPath, [], { cwd: "/no/such/folder" }))).message,
      "cannot be started",
    );
    assert.equal((await rejection(spawnGuest("/etc"))).cause.code, "EACCES");
  });

  it("is not started if its signal is already aborted", async () => {
    const reason = new Error("changed my mind");
    assert.equal(await rejection(spawnGuest(process.execPath, [], { signal: AbortSignal.abort(reason) })), reason);
  });
});

describe("a guest that exits", () => {
  it("makes send() reject if it has read only a part of the frame", async () => {
    const guest = await spawnGuest("sh", ["-c", "head -c 1000 >/dev/null; exit 3"]);
    const error = await rejection(guest.channel.send(DATA, new Uint8Array(10 << 20)));
    assert.match(error.message, /EPIPE|ECONNRESET|closed/);
    assert.deepEqual(await guest.exited, { code: 3, signal: null });
  });

  for (const [how, endGuest, exit] of [
    ["the host kills it", (guest) => guest.kill(), { code: null, signal: "SIGKILL" }],
    ["the guest itself exits", (guest, client) => client.notify("exit", [7]), { code: 7, signal: null }],
    ["its signal is aborted", (guest, client, controller) => controller.abort(), { code: null, signal: "SIGKILL" }],
  ]) {
    it(`ends the pending calls at once, and later calls and writes fail: ${how}`, async () => {
      const controller = new AbortController();
      const guest = await guestOf("echo", { signal: controller.signal });
      const client = new JSONRPCClient(guest.transport());
      const hanging = rejection(client.request("hang", [], { timeout: 0 }));
      await client.request("echo");
      const start = performance.now();
      endGuest(guest, client, controller);
      assert.equal((await hanging).reason, "peer-gone");
      assert.isBelow(performance.now() - start, 1_000);
      assert.deepEqual(await guest.exited, exit);
      assert.equal((await rejection(client.request("echo"))).reason, "peer-gone");
      assertClosed(() => guest.channel.send(DATA, "too late"), "ended");
      assert.deepEqual(await guest.close(), exit);
      assert.isFalse(isAlive(guest.pid));
    });
  }

  it("makes the last write reject if the host has many pending writes", async () => {
    const guest = await guestOf("ignoreEverything");
    const writes = Array.from({ length: 40 }, () => guest.channel.send(DATA, new Uint8Array(1 << 20)));
    await pause(50);
    guest.kill();
    await guest.channel.ended;
    const outcomes = await Promise.allSettled(writes);
    assert.equal(outcomes.at(-1).status, "rejected");
  });

  it("ends its channel, even if a child process of the guest keeps the output open", async () => {
    const seen = [];
    const guest = await guestOf("leaveChild", { onData: (payload) => seen.push(text(payload)) });
    const client = new JSONRPCClient(guest.transport());
    const hanging = rejection(client.request("hang", [], { timeout: 0 }));
    const start = performance.now();
    await guest.exited;
    assert.equal((await hanging).reason, "peer-gone");
    assert.isBelow(performance.now() - start, 2_000);
    assert.deepEqual(seen, ["last words"]);
  });
});

describe("a guest that the host closes", () => {
  it("completes its work, and sends its last messages", async () => {
    const seen = [];
    const guest = await guestOf("echo", { onData: (payload) => seen.push(text(payload)) });
    const client = new JSONRPCClient(guest.transport());
    await client.request("echo");
    const slow = client.request("slow", [150]);
    assert.deepEqual(await guest.close({ payload: "bye" }), { code: 0, signal: null });
    assert.equal(await slow, "done");
    await guest.channel.ended;
    assert.deepEqual(seen, ["bye"]);
  });

  it("is killed after the timeout if it ignores the close, whichever function closes it", async () => {
    for (const close of [
      (guest) => guest.close({ timeout: 100 }),
      (guest) => void new JSONRPCClient(guest.transport()).destroy(),
      (guest) => void guest.channel.close(),
      (guest) => guest.channel.destroy(),
    ]) {
      let pid;
      const guest = await guestOf("ignoreEverything", {
        closeTimeout: 100,
        onOpen: (payload) => (pid = Number(text(payload))),
      });
      await until(() => pid !== undefined);
      assert.equal(pid, guest.pid);
      const start = performance.now();
      close(guest);
      assert.deepEqual(await guest.exited, { code: null, signal: "SIGKILL" });
      assert.isBelow(performance.now() - start, 1_500);
      assert.isFalse(isAlive(pid));
    }
  });

  it("is killed after the timeout if it does not read, however many bytes are queued", async () => {
    for (const close of [(guest) => guest.close({ timeout: 100 }), (guest) => guest.channel.close()]) {
      let isReady = false;
      const guest = await guestOf("ignoreEverything", { closeTimeout: 100, onOpen: () => (isReady = true) });
      guest.channel.send(DATA, new Uint8Array(8 << 20));
      await until(() => isReady);
      close(guest);
      assert.deepEqual(await guest.exited, { code: null, signal: "SIGKILL" });
    }
  });

  it("exits after its exitTimeout, even if a handler still runs", async () => {
    const guest = await guestOf(["hang", "100"]);
    const client = new JSONRPCClient(guest.transport());
    const hanging = rejection(client.request("hang", [], { timeout: 0 }));
    assert.deepEqual(await guest.close({ timeout: 5_000 }), { code: 0, signal: null });
    assert.equal((await hanging).reason, "peer-gone");
  });

  it("keeps running if the timeout is invalid: close() rejects", async () => {
    const guest = await guestOf("echo");
    assert.instanceOf(await rejection(guest.close({ timeout: -1 })), RangeError);
    assert.isTrue(isAlive(guest.pid));
  });
});

describe("a guest that closes its channel", () => {
  it("exits with its exit code, and the host sends no further frames", async () => {
    const closed = [];
    const guest = await guestOf("echo", { onClose: (payload) => closed.push(text(payload)) });
    const client = new JSONRPCClient(guest.transport(), { onError() {} });
    await client.request("echo");
    client.notify("close", [5]);
    const hangingCall = rejection(client.request("hang", [], { timeout: 0 }));
    assert.equal((await hangingCall).reason, "peer-gone");
    assert.deepEqual(await guest.exited, { code: 5, signal: null });
    assert.deepEqual(closed, ["bye"]);
    assertClosed(() => guest.channel.send(DATA), "closed-by-peer");
  });
});

describe("a guest whose responses are not read", function () {
  this.timeout(30_000);

  it("exits after the host ends the guest's input", async () => {
    const guest = spawn(process.execPath, [fixture("wipc-guest.mjs"), "echo"], { stdio: ["pipe", "pipe", "inherit"] });
    afterThisTest(() => guest.kill("SIGKILL"));
    const exited = once(guest, "exit");
    // The guest is ready when it sends OPEN.
    await once(guest.stdout, "data");
    guest.stdout.pause();
    const repeatRequest = (id) =>
      encodeWipc(CALL, JSON.stringify({ jsonrpc: "2.0", method: "repeat", params: [60_000], id }));
    for (let id = 0; id < 3_000; id++) guest.stdin.write(repeatRequest(id));
    guest.stdin.end();
    assert.deepEqual(await exited, [0, null]);
  });
});

it("a guest exits after its onClose has thrown, even if its input does not end", async () => {
  const guest = spawn(process.execPath, [fixture("wipc-guest.mjs"), "throwOnClose"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  afterThisTest(() => guest.kill("SIGKILL"));
  await once(guest.stdout, "data");
  guest.stdin.write(encodeWipc(CLOSE, ""));
  assert.deepEqual(await once(guest, "exit"), [0, null]);
});

describe("a guest that floods the host and exits", function () {
  this.timeout(60_000);

  it("does not block other tasks of the host, and the host handles all messages of the guest", async () => {
    const guest = await spawnGuest(process.execPath, [fixture("wipc-hostile.mjs"), "flood"], { onError() {} });
    afterThisTest(() => guest.kill());
    let timerCalls = 0;
    let handled = 0;
    const peer = new JSONRPCPeer(guest.transport(), { onError() {} }).method(
      "big",
      () => ((handled += 1), "x".repeat(5_000)),
    );
    // A host that has paused the handling of frames still reads ahead, up to a limit. This call raises the limit.
    const hangingCall = rejection(peer.request("a", [], { timeout: 0 }));
    await guest.exited;
    const timer = setInterval(() => (timerCalls += 1), 1);
    afterThisTest(() => clearInterval(timer));
    await guest.channel.ended;
    assert.equal((await hangingCall).reason, "peer-gone");
    assert.equal(handled, 200_000);
    assert.isAbove(timerCalls, 10);
  });
});

describe("a host that exits", () => {
  for (const how of ["exits", "throws"]) {
    for (const mode of ["echo", "ignoreEverything"]) {
      it(`leaves no guest running if it ${how}: guest ${mode}`, async () => {
        const host = spawn(process.execPath, [fixture("wipc-host.mjs"), how, mode], {
          stdio: ["ignore", "pipe", "ignore"],
        });
        const [line] = await once(host.stdout, "data");
        const pid = Number(String(line));
        assert.isAbove(pid, 0);
        await once(host, "exit");
        await until(() => !isAlive(pid), "the guest still runs");
      });
    }
  }

  it("leaves no guest running if it is killed, and the guest exits at the end of the input", async () => {
    const host = spawn(process.execPath, [fixture("wipc-host.mjs"), "stays", "echo"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = await once(host.stdout, "data");
    const pid = Number(String(line));
    host.kill("SIGKILL");
    await until(() => !isAlive(pid), "the guest still runs");
  });
});

it("a guest responds to all frames of an input that has already ended, and then ends its output", async () => {
  const guest = spawn(process.execPath, [fixture("wipc-guest.mjs"), "echo"], { stdio: ["pipe", "pipe", "inherit"] });
  afterThisTest(() => guest.kill("SIGKILL"));
  const readable = new ReadableStream({
    async start(controller) {
      for await (const chunk of guest.stdout) controller.enqueue(chunk);
      controller.close();
    },
  });
  const seen = [];
  const writable = new WritableStream({ write: (chunk) => void guest.stdin.write(chunk) });
  const channel = new WipcChannel(
    { readable, writable },
    { onData: (payload) => seen.push(text(payload)), onCall: (payload) => seen.push(JSON.parse(text(payload)).result) },
  );
  guest.stdin.end(
    Buffer.concat([encodeWipc(DATA, "1"), encodeWipc(2, '{"jsonrpc":"2.0","method":"slow","params":[100],"id":1}')]),
  );
  await channel.ended;
  assert.deepEqual(seen, ["1", "done"]);
});

it("a payload of more than 2^32 - 1 bytes is refused before any byte is written", () => {
  const huge = new Uint8Array(2 ** 32);
  assert.throws(() => encodeWipc(DATA, huge), RangeError, "4294967295");
});
