// Guests that start other processes. The host ends all of these processes.

import { assert } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packaged } from "./support/portway.js";
import { DATA } from "./support/wipc.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

const { spawnGuest } = await import(packaged("wipc-node.js"));

/** Programs that start a server. The server does not exit at the end of its input or when its parent exits. */
const programs = {
  "a child of a shell": ({ server }) => ["sh", "-c", `sh '${server}'; true`],
  "a child of Node": ({ server }) => ["node", "-e", `child_process.spawn("sh", ["${server}"], { stdio: "inherit" })`],
  "a child of npx": ({ server }) => ["npx", "--no", "--offline", "-c", `sh '${server}'`],
  "a process whose parent has ended": ({ server }) => ["sh", "-c", `(sh '${server}' &); cat >/dev/null`],
  "a process in another group": ({ server }) => ["sh", "-c", `setsid sh '${server}'; true`],
  "a process in another group, whose parent ends first": ({ server, pid }) => [
    "sh",
    "-c",
    `setsid sh '${server}' & while [ ! -e '${pid}' ]; do sleep 0.02; done; cat >/dev/null`,
  ],
};

/**
 * Returns a program of this kind. If `handlesTerm` is true, its server writes a file and exits at SIGTERM. Otherwise,
 * the server ignores SIGTERM.
 */
function programOf(kind, handlesTerm) {
  const folder = mkdtempSync(join(tmpdir(), "tree-"));
  const [server, pid, saved] = ["server", "pid", "saved"].map((name) => join(folder, name));
  const trap = handlesTerm ? `echo saved > "${saved}"; exit 0` : "";
  const loop = "while :; do sleep 0.05; done";
  writeFileSync(server, `trap '${trap}' TERM\ntrap '' HUP INT PIPE\necho $$ > '${pid}'\n${loop}\n`);
  /** Returns the processes whose arguments contain the folder. A zombie has no arguments. */
  const runningProcesses = () =>
    readdirSync("/proc").filter((id) => {
      try {
        return id > 0 && readFileSync(`/proc/${id}/cmdline`, "latin1").includes(folder);
      } catch {
        return false;
      }
    });
  afterThisTest(() => {
    for (const id of runningProcesses()) process.kill(Number(id), "SIGKILL");
    rmSync(folder, { recursive: true });
  });
  return {
    command: programs[kind]({ server, pid }),
    runningProcesses,
    hasSaved: () => existsSync(saved),
    // The server may not have written its process id yet.
    hasStarted: () => existsSync(pid) && readFileSync(pid, "utf8").endsWith("\n"),
  };
}

/** Starts the program as a guest, and waits until its server has started. */
async function guestOf(program, options) {
  const [command, ...args] = program.command;
  const guest = await spawnGuest(command, args, options);
  await until(program.hasStarted, "the server has not started", 30_000);
  return guest;
}

describe("a server that a guest has started", function () {
  this.timeout(60_000);

  for (const kind of Object.keys(programs)) {
    it(`gets SIGTERM, and has exited when the guest is closed: ${kind}`, async () => {
      for (const close of [(guest) => guest.close({ timeout: 200 }), (guest) => guest.channel.destroy()]) {
        const program = programOf(kind, true);
        const guest = await guestOf(program, { closeTimeout: 200 });
        await close(guest);
        await guest.close();
        assert.deepEqual(program.runningProcesses(), []);
        assert.isTrue(program.hasSaved());
      }
    });

    it(`is killed if it ignores SIGTERM: ${kind}`, async () => {
      const program = programOf(kind, false);
      const guest = await guestOf(program);
      const start = performance.now();
      await guest.close({ timeout: 200 });
      assert.isAtLeast(performance.now() - start, 195);
      await until(() => program.runningProcesses().length === 0, "the server still runs");
    });
  }

  for (const kind of ["a child of a shell", "a process whose parent has ended", "a process in another group"]) {
    it(`is killed together with the guest: ${kind}`, async () => {
      for (const kill of [(guest) => guest.kill(), (guest, controller) => controller.abort()]) {
        const program = programOf(kind, true);
        const controller = new AbortController();
        const guest = await guestOf(program, { signal: controller.signal });
        kill(guest, controller);
        await guest.exited;
        await until(() => program.runningProcesses().length === 0, "the server still runs");
        await until(() => !guest.kill(), "the guest still runs");
      }
    });

    for (const how of ["exits", "throws", "SIGINT", "SIGTERM", "SIGHUP"]) {
      it(`is killed when the host ends (${how}): ${kind}`, async () => {
        const program = programOf(kind, false);
        const fixture = fileURLToPath(new URL("fixtures/wipc-host-of.mjs", import.meta.url));
        const host = spawn(process.execPath, [fixture, ...program.command], { stdio: ["pipe", "ignore", "ignore"] });
        afterThisTest(() => host.kill("SIGKILL"));
        await until(program.hasStarted, "the server has not started", 30_000);
        if (how.startsWith("SIG")) host.kill(how);
        else host.stdin.end(how);
        const [code, signal] = await once(host, "exit");
        if (how.startsWith("SIG")) assert.deepEqual([code, signal], [null, how]);
        await until(() => program.runningProcesses().length === 0, "the server still runs");
      });
    }
  }

  it("is killed if the options of the guest are invalid", async () => {
    const program = programOf("a child of a shell", true);
    const [command, ...args] = program.command;
    assert.instanceOf(await rejection(spawnGuest(command, args, { maxMessage: "many" })), Error);
    await until(() => program.runningProcesses().length === 0, "the server still runs");
  });

  it("gets SIGTERM after its guest was killed, and then SIGKILL if it ignores SIGTERM (closeTimeout: 0)", async () => {
    for (const handlesTerm of [true, false]) {
      const program = programOf("a process whose parent has ended", handlesTerm);
      const guest = await guestOf(program, { closeTimeout: 0 });
      guest.channel.send(DATA, "x");
      process.kill(guest.pid, "SIGKILL");
      await guest.exited;
      await until(() => program.runningProcesses().length === 0, "the server still runs");
      assert.equal(program.hasSaved(), handlesTerm);
    }
  });
});

describe("a host with two copies of the library", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    it(`ends because of ${signal}, and the guests of both copies are killed`, async () => {
      const [firstProgram, secondProgram] = [
        programOf("a child of a shell", false),
        programOf("a child of a shell", false),
      ];
      const fixture = fileURLToPath(new URL("fixtures/wipc-host-of.mjs", import.meta.url));
      const copy = new URL("../../pkg/wipc-node.js?copy", import.meta.url);
      const [command, ...args] = secondProgram.command;
      const script = `
        const { spawnGuest } = await import("${copy}");
        await spawnGuest(${JSON.stringify(command)}, ${JSON.stringify(args)});
        process.argv.splice(1, 0, "");
        await import("${fixture}");`;
      const line = ["--input-type=module", "-e", script, ...firstProgram.command];
      const host = spawn(process.execPath, line, { stdio: ["pipe", "ignore", "ignore"] });
      afterThisTest(() => host.kill("SIGKILL"));
      await until(() => firstProgram.hasStarted() && secondProgram.hasStarted(), "a server has not started", 30_000);
      host.kill(signal);
      assert.deepEqual(await once(host, "exit"), [null, signal]);
      await until(
        () => firstProgram.runningProcesses().length + secondProgram.runningProcesses().length === 0,
        "a server still runs",
      );
    });
  }
});

describe("a host that handles a signal", () => {
  it("does not exit because of the signal, and neither does its guest", async () => {
    const program = programOf("a child of a shell", true);
    const fixture = fileURLToPath(new URL("fixtures/wipc-host-of.mjs", import.meta.url));
    const script = `process.on("SIGTERM", () => console.log("received")); process.argv.splice(1, 0, ""); await import("${fixture}")`;
    const line = ["--input-type=module", "-e", script, ...program.command];
    const host = spawn(process.execPath, line, { stdio: ["pipe", "pipe", "ignore"] });
    afterThisTest(() => host.kill("SIGKILL"));
    await until(program.hasStarted, "the server has not started", 30_000);
    host.kill("SIGTERM");
    const [received] = await once(host.stdout, "data");
    assert.equal(String(received), "received\n");
    assert.isFalse(program.hasSaved());
    host.stdin.end("exits 7");
    assert.deepEqual(await once(host, "exit"), [7, null]);
    await until(() => program.runningProcesses().length === 0, "the server still runs");
  });
});
