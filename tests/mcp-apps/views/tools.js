// The tools of both test views. A test calls them through its host, to control the view and to read its state.

/** Waits until a signal is aborted, and rejects with its reason. */
export function untilAborted(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

export const textResult = (text) => ({ content: [{ type: "text", text }] });

/** Returns a result that has a value. A result of `tools/call` must have `content`. */
export const valueResult = (value) => ({ content: [], structuredContent: value });

/**
 * Returns the function `callTool(name, args, { signal, progress })`, and the array `notifications`, to which the view
 * adds the notifications of the host. `view` has the functions `request(method, params, options)`, `notify(method,
 * params)` and `fail(code, message, data)`, and the array `errors` of the errors that the view has reported.
 */
export function createTools(view) {
  /** The texts of the reasons of aborted signals, in order. */
  const reasons = [];
  const notifications = [];

  const tools = {
    echo: ({ text }) => textResult(text),
    fail: ({ code, message, data }) => view.fail(code, message, data),
    slow(_, { signal }) {
      signal.addEventListener("abort", () => reasons.push(String(signal.reason?.message ?? signal.reason)));
      return untilAborted(signal);
    },
    async steps(_, { progress }) {
      await progress({ progress: 1, total: 2 });
      await progress({ progress: 2, total: 2, message: "done" });
      return textResult("done");
    },
    state: () => valueResult({ reasons, notifications, errors: view.errors }),
    notify: async ({ method, params }) => {
      await view.notify(method, params);
      return textResult("sent");
    },
    /** Makes a call to the host. With `abortAfter`, the call is aborted after this number of milliseconds. */
    async call({ method, params, timeout, abortAfter, wantsProgress }) {
      const controller = new AbortController();
      const seen = [];
      const options = { signal: controller.signal, timeout };
      if (wantsProgress) options.onProgress = (value) => seen.push(value);
      if (abortAfter !== undefined)
        setTimeout(() => controller.abort(new Error("the view has aborted the call")), abortAfter);
      try {
        return valueResult({ result: await view.request(method, params, options), seen });
      } catch ({ code, message, data, reason }) {
        return valueResult({ error: { code, message, data, reason }, seen });
      }
    },
  };

  return {
    notifications,
    callTool(name, args, context) {
      const tool = Object.hasOwn(tools, name) ? tools[name] : () => view.fail(-32602, `unknown tool: ${name}`);
      return tool(args ?? {}, context);
    },
  };
}
