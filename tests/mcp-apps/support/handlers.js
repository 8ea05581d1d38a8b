// The requests of a view that both test hosts handle.

export const PROTOCOL_VERSION = "2026-01-26";
export const HOST_INFO = { name: "host", version: "1.0.0" };
export const HOST_CONTEXT = { theme: "dark", displayMode: "inline" };

/** Waits until a signal is aborted, and rejects with its reason. */
function untilAborted(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

const textResult = (text) => ({ content: [{ type: "text", text }] });

/**
 * Returns the handlers by method as `requests`. `fail(code, message, data)` throws the error of a host. `received` has
 * the notifications and the requests that have no effect, and `reasons` has the texts of the reasons of aborted
 * signals. `onceInitialized` is resolved when the host calls `initialized`.
 */
export function createHandlers(fail) {
  const received = [];
  const reasons = [];
  let initialized;
  const onceInitialized = new Promise((resolve) => (initialized = resolve));
  const note = (method, result) => (params) => {
    received.push([method, params]);
    return result;
  };
  const tools = {
    sum: ({ a, b }) => textResult(String(a + b)),
    fail: () => fail(-32004, "no such thing", { name: "fail" }),
    slow(_, { signal }) {
      signal.addEventListener("abort", () => reasons.push(String(signal.reason?.message ?? signal.reason)));
      return untilAborted(signal);
    },
    async steps(_, { progress }) {
      await progress({ progress: 1, total: 2 });
      await progress({ progress: 2, total: 2, message: "done" });
      return textResult("done");
    },
  };
  return {
    received,
    reasons,
    initialized,
    onceInitialized,
    requests: {
      "tools/call": ({ name, arguments: args }, context) =>
        Object.hasOwn(tools, name) ? tools[name](args, context) : fail(-32602, `unknown tool: ${name}`),
      "resources/read": ({ uri }) => ({ contents: [{ uri, mimeType: "text/plain", text: "a text" }] }),
      "ui/message": note("ui/message", {}),
      "ui/open-link": note("ui/open-link", {}),
      "ui/download-file": note("ui/download-file", {}),
      "ui/request-display-mode": ({ mode }) => ({ mode }),
      // A handler that returns nothing.
      "ui/update-model-context": note("ui/update-model-context"),
    },
  };
}
