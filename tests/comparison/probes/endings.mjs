// Whether each call comes to an end.

import { connected, ending, never, outcome, pause, told } from "./channel.mjs";

/** Longer than any default that a caller would wait for. */
const PATIENCE = 15_000;

export const endings = [
  {
    id: "unanswered",
    text: "A call that is never answered ends by itself",
    slow: true,
    async probe(library) {
      const { call, callWithTimeout } = await connected(library, { build: never });
      const end = await ending(call("build", {}), PATIENCE);
      if (end.state !== "pending") return outcome("yes", told(end).replace(/\d+\)$/, "…)"));
      if (callWithTimeout === undefined) return outcome("no", "pending after 15 s");
      const asked = await ending(callWithTimeout("build", {}, 100));
      return outcome(asked.state === "rejected" ? "on request" : "no", `with a timeout: ${told(asked)}`);
    },
  },
  {
    id: "close",
    text: "Calls that wait when this side closes are rejected",
    async probe(library) {
      const { call, close } = await connected(library, { build: never });
      const waiting = call("build", {});
      await pause(50);
      close();
      const end = await ending(waiting);
      const yes = library.closedByHand ? "by hand" : "yes";
      return outcome(end.state === "rejected" ? yes : "no", told(end));
    },
  },
  {
    id: "after-close",
    text: "A call after closing fails at once",
    async probe(library) {
      const { call, close } = await connected(library, { build: () => 1 });
      close();
      await pause(50);
      const end = await ending(() => call("build", {}));
      return outcome(end.state === "rejected" ? "yes" : "no", told(end));
    },
  },
  {
    id: "uncloneable-argument",
    text: "An argument that cannot be cloned fails the call",
    async probe(library) {
      const { call } = await connected(library, { build: () => 1 });
      const end = await ending(() => call("build", { callback() {} }));
      const next = await ending(call("build", {}));
      const failed = end.state === "rejected" && next.value === 1;
      return outcome(failed ? "yes" : "no", `${told(end)}; the next: ${next.state}`);
    },
  },
  {
    id: "uncloneable-argument-memory",
    text: "Calls whose argument cannot be cloned leave nothing in memory",
    alone: true,
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
      // A call that is kept costs 2000 bytes; what the engine itself keeps now and then is below 100.
      const stays = ((await fail(5000)) - before) / 5000 < 500;
      return outcome(stays ? "yes" : "no", stays ? "the heap stays" : "the heap grows with each call");
    },
  },
  {
    id: "uncloneable-result",
    text: "A result that cannot be cloned fails the call",
    async probe(library) {
      const { call } = await connected(library, { build: () => ({ callback() {} }) });
      const end = await ending(call("build", {}));
      return outcome(end.state === "rejected" ? "yes" : "no", told(end));
    },
  },
  {
    id: "thrown-nothing",
    text: "`throw undefined`, `null`, `0`, `false` or `\"\"` in a handler fails the call",
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
