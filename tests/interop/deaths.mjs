// The ways in which the peer of a call ends, or this side itself. This runs in the page. Each entry builds its boundary
// and returns `strike`, which ends it and returns the calls to watch. `judge` turns their outcomes into the words of
// the table. `boundaries` are those that a library must offer.

import { pause } from "../comparison/probes/channel.mjs";
import { speed } from "./speed.mjs";

/** Of a call that waits when it happens: how soon it ends, by itself or by a timeout that can be asked for. */
function soon({ call, asked }) {
  if (call.state !== "waits") return speed(call);
  return asked?.state === "rejected" ? "on request" : "waits";
}

/** The timeout of a call, if a library has such an option. */
const ASKED = 2000;

/** A call that is never answered is under way before `strike` acts on the boundary. */
function during(boundary, strike) {
  return async (factory) => {
    const made = await factory[boundary]();
    const { call, callWithTimeout } = made;
    await call("echo", {});
    const waiting = call("hang", {});
    // It has arrived once a later call is answered.
    await call("echo", {});
    return () => {
      const watched = { call: waiting, asked: callWithTimeout?.("hang", {}, ASKED) };
      strike?.(made);
      return watched;
    };
  };
}

/** To a worker that never listens: connecting is a part of the call. */
function atStart(script) {
  return async ({ connect }) =>
    () => ({
      call: connect(script).then(({ call }) => call("echo", {})),
      asked: connect(script, { timeout: ASKED }).then(({ call, callWithTimeout }) => {
        return callWithTimeout?.("echo", {}, ASKED) ?? call("echo", {});
      }),
    });
}

export const deaths = [
  {
    id: "silence",
    text: "The other side never answers",
    boundaries: ["port"],
    prepare: during("port"),
    judge: soon,
  },
  {
    id: "frame-reloads",
    text: "The frame reloads",
    boundaries: ["frame"],
    prepare: during("frame", ({ element }) => element.contentWindow.location.reload()),
    judge: soon,
  },
  {
    id: "frame-navigates",
    text: "The frame goes to another origin",
    boundaries: ["frame"],
    prepare: during("frame", ({ element, elsewhere }) => (element.src = elsewhere)),
    judge: soon,
  },
  {
    id: "frame-removed",
    text: "The frame is removed",
    boundaries: ["frame"],
    prepare: during("frame", ({ element }) => element.remove()),
    judge: soon,
  },
  {
    id: "worker-terminated",
    text: "The worker is terminated",
    boundaries: ["worker"],
    prepare: during("worker", ({ worker }) => worker.terminate()),
    judge: soon,
  },
  {
    id: "worker-missing",
    text: "The worker's script is not there",
    boundaries: ["worker"],
    prepare: atStart("missing.js"),
    judge: soon,
  },
  {
    id: "worker-throws",
    text: "The worker's script throws as it starts",
    boundaries: ["worker"],
    prepare: atStart("throws.js"),
    judge: soon,
  },
  {
    id: "port-holder",
    text: "The worker that holds the other port is terminated",
    boundaries: ["port"],
    prepare: during("portInWorker", ({ worker }) => worker.terminate()),
    judge: soon,
  },
  {
    id: "port-closed",
    text: "The other side closes its port",
    boundaries: ["port"],
    prepare: during("port", ({ far }) => far.close()),
    judge: soon,
  },
  {
    id: "other-closes",
    text: "The other side closes by its library",
    boundaries: ["port"],
    needs: ({ served }) => served?.close,
    prepare: during("port", ({ served }) => served.close()),
    judge: soon,
  },
  {
    id: "own-close",
    text: "This side closes",
    boundaries: ["port"],
    prepare: during("port", ({ close }) => close()),
    judge: ({ call }, { closedByHand }) => (call.state === "rejected" && closedByHand ? "by hand" : speed(call)),
  },
  {
    id: "after-close",
    text: "A call after this side has closed",
    boundaries: ["port"],
    async prepare(factory) {
      const { call, callWithTimeout, close } = await factory.port();
      await call("echo", {});
      return () => {
        close();
        return { call: () => call("echo", {}), asked: callWithTimeout && (() => callWithTimeout("echo", {}, ASKED)) };
      };
    },
    judge: soon,
  },
  {
    id: "during-reload",
    text: "A call while the frame reloads",
    boundaries: ["frame"],
    async prepare(factory) {
      const { element, call, callWithTimeout, scriptAsked, release } = await factory.heldFrame();
      await call("echo", {});
      return async () => {
        element.contentWindow.location.reload();
        // The new document is there, and nothing in it listens yet.
        await scriptAsked();
        const watched = {
          call: () => call("echo", {}),
          asked: callWithTimeout && (() => callWithTimeout("echo", {}, ASKED)),
        };
        setTimeout(release, 300);
        return watched;
      };
    },
    judge: (ends) => (ends.call.state === "answered" ? "answered" : soon(ends)),
  },
  {
    id: "after-reload",
    text: "Calls after the frame has reloaded",
    boundaries: ["frame"],
    async prepare(factory) {
      const { element, call } = await factory.frame();
      await call("echo", {});
      return async () => {
        const loaded = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
        element.contentWindow.location.reload();
        await loaded;
        return { call: firstOf(20, () => call("echo", {})) };
      };
    },
    judge: ({ call }) => (call.state === "answered" ? "answered" : speed(call)),
  },
];

/** A library may need a moment to connect again: calls one after another, until one is answered. */
function firstOf(times, call) {
  return new Promise((resolve, reject) => {
    (async () => {
      for (let n = 0; n < times; n++) {
        const last = n === times - 1;
        // One that waits does not keep the next from being made.
        Promise.resolve()
          .then(call)
          .then(resolve, last ? reject : () => {});
        await pause(250);
      }
    })();
  });
}
