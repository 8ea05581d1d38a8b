// Probes whether a failing call ends. tests/interop probes how a call ends if its peer closes or crashes.

import { connected, ending, outcome, pause, describe } from "./channel.mjs";

export const endings = [
  {
    id: "uncloneable-argument",
    text: "An argument that cannot be cloned fails the call",
    async probe(library) {
      const { call } = await connected(library, { build: () => 1 });
      const end = await ending(() => call("build", { callback() {} }));
      const next = await ending(call("build", {}));
      const failed = end.state === "rejected" && next.value === 1;
      return outcome(failed ? "yes" : "no", `${describe(end)}; the next: ${next.state}`);
    },
  },
  {
    id: "uncloneable-argument-memory",
    text: "Calls whose argument cannot be cloned leak no memory",
    runsLast: true,
    async probe(library) {
      const { call } = await connected(library, { build: () => 1 });
      const fail = async (times) => {
        for (let i = 0; i < times; i++) await ending(() => call("build", { callback() {} }));
        await pause(20);
        globalThis.gc();
        return process.memoryUsage().heapUsed;
      };
      await fail(500);
      const before = await fail(500);
      // A leaked call costs 2000 bytes. The engine itself sometimes retains fewer than 100 bytes for each call.
      const isConstant = ((await fail(5000)) - before) / 5000 < 500;
      return outcome(isConstant ? "yes" : "no", isConstant ? "the heap stays" : "the heap grows with each call");
    },
  },
  {
    id: "uncloneable-result",
    text: "A result that cannot be cloned fails the call",
    async probe(library) {
      const { call } = await connected(library, { build: () => ({ callback() {} }) });
      const end = await ending(call("build", {}));
      return outcome(end.state === "rejected" ? "yes" : "no", describe(end));
    },
  },
  {
    id: "thrown-nothing",
    text: '`throw undefined`, `null`, `0`, `false` or `""` in a handler fails the call',
    async probe(library) {
      const states = [];
      for (const value of [undefined, null, 0, false, ""]) {
        const { call } = await connected(library, {
          build() {
            throw value;
          },
        });
        states.push((await ending(call("build", {}))).state);
      }
      return outcome(states.every((state) => state === "rejected") ? "yes" : "no", states.join(", "));
    },
  },
];
