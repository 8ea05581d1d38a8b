// Lists the events after which a call may get no response. This file runs in the page. `prepare` of an event connects
// two peers, and resolves to a function. This function triggers the event, and returns the calls to observe. `judge`
// returns the text of the table for the ends of these calls. An event is skipped if the library does not support all
// `boundaries` of the event. It is also skipped if `needs` of the event returns `undefined`, which means that the
// library lacks a function.

import { pause } from "../comparison/probes/channel.mjs";
import { speed } from "./speed.mjs";

/** Returns how soon `call` ended. If only `timedCall` ended, by its timeout, returns "on request". */
function endText({ call, timedCall }) {
  if (call.state !== "waits") return speed(call);
  return timedCall?.state === "rejected" ? "on request" : "waits";
}

/** The timeout of each `timedCall` in milliseconds. If a library has no timeouts, most events have no `timedCall`. */
const TIMEOUT_MS = 2000;

/** Returns a `prepare` function that makes a call without a response. The call is pending when `trigger` runs. */
function during(boundary, trigger) {
  return async (factory) => {
    const pair = await factory[boundary]();
    const { call, callWithTimeout } = pair;
    await call("echo", {});
    const pendingCall = call("hang", {});
    // When the next call is answered, the peer has received the pending call.
    await call("echo", {});
    return () => {
      const watched = { call: pendingCall, timedCall: callWithTimeout?.("hang", {}, TIMEOUT_MS) };
      trigger?.(pair);
      return watched;
    };
  };
}

/** Returns a `prepare` function for a worker that never listens. The observed time includes the time to connect. */
function atStart(script) {
  return async ({ connect }) =>
    () => ({
      call: connect(script).then(({ call }) => call("echo", {})),
      timedCall: connect(script, { timeout: TIMEOUT_MS }).then(({ call, callWithTimeout }) => {
        return callWithTimeout?.("echo", {}, TIMEOUT_MS) ?? call("echo", {});
      }),
    });
}

export const deaths = [
  {
    id: "silence",
    text: "The peer never answers",
    boundaries: ["port"],
    prepare: during("port"),
    judge: endText,
  },
  {
    id: "frame-reloads",
    text: "The iframe reloads",
    boundaries: ["frame"],
    prepare: during("frame", ({ element }) => element.contentWindow.location.reload()),
    judge: endText,
  },
  {
    id: "frame-navigates",
    text: "The iframe navigates to another origin",
    boundaries: ["frame"],
    prepare: during("frame", ({ element, elsewhere }) => (element.src = elsewhere)),
    judge: endText,
  },
  {
    id: "frame-removed",
    text: "The iframe is removed",
    boundaries: ["frame"],
    prepare: during("frame", ({ element }) => element.remove()),
    judge: endText,
  },
  {
    id: "worker-terminated",
    text: "The worker is terminated",
    boundaries: ["worker"],
    prepare: during("worker", ({ worker }) => worker.terminate()),
    judge: endText,
  },
  {
    id: "worker-missing",
    text: "The worker's script is missing",
    boundaries: ["worker"],
    prepare: atStart("missing.js"),
    judge: endText,
  },
  {
    id: "worker-throws",
    text: "The worker's script throws when it starts",
    boundaries: ["worker"],
    prepare: atStart("throws.js"),
    judge: endText,
  },
  {
    id: "port-holder",
    text: "The worker that holds the other port is terminated",
    boundaries: ["port"],
    prepare: during("portInWorker", ({ worker }) => worker.terminate()),
    judge: endText,
  },
  {
    id: "port-closed",
    text: "The peer closes its port",
    boundaries: ["port"],
    prepare: during("port", ({ far }) => far.close()),
    judge: endText,
  },
  {
    id: "other-closes",
    text: "The peer closes through its library",
    boundaries: ["port"],
    needs: ({ served }) => served?.close,
    prepare: during("port", ({ served }) => served.close()),
    judge: endText,
  },
  {
    id: "own-close",
    text: "The caller closes",
    boundaries: ["port"],
    prepare: during("port", ({ close }) => close()),
    judge: ({ call }, { closedByHand }) => (call.state === "rejected" && closedByHand ? "by hand" : speed(call)),
  },
  {
    id: "after-close",
    text: "A call after the caller has closed",
    boundaries: ["port"],
    async prepare(factory) {
      const { call, callWithTimeout, close } = await factory.port();
      await call("echo", {});
      return () => {
        close();
        return {
          call: () => call("echo", {}),
          timedCall: callWithTimeout && (() => callWithTimeout("echo", {}, TIMEOUT_MS)),
        };
      };
    },
    judge: endText,
  },
  {
    id: "during-reload",
    text: "A call while the iframe reloads",
    boundaries: ["frame"],
    async prepare(factory) {
      const { element, call, callWithTimeout, scriptAsked, release } = await factory.heldFrame();
      await call("echo", {});
      return async () => {
        element.contentWindow.location.reload();
        // The new document exists, but its scripts do not listen yet.
        await scriptAsked();
        const watched = {
          call: () => call("echo", {}),
          timedCall: callWithTimeout && (() => callWithTimeout("echo", {}, TIMEOUT_MS)),
        };
        setTimeout(release, 300);
        return watched;
      };
    },
    judge: (ends) => (ends.call.state === "answered" ? "answered" : endText(ends)),
  },
  {
    id: "after-reload",
    text: "Calls after the iframe has reloaded",
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

/**
 * Makes `times` calls, with pauses of 250 ms. Resolves to the first answer, because a library may need some time to
 * connect again.
 */
function firstOf(times, call) {
  return new Promise((resolve, reject) => {
    (async () => {
      for (let n = 0; n < times; n++) {
        const last = n === times - 1;
        // A pending call must not delay the next call.
        Promise.resolve()
          .then(call)
          .then(resolve, last ? reject : () => {});
        await pause(250);
      }
    })();
  });
}
