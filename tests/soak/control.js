// The page controls the other contexts by plain messages. These messages use the boundaries of the links. The library
// ignores the messages, because they are not JSON-RPC.

import { listen } from "./instruments.js";

/** Returns a function that sends questions to the context of `target`. The answers arrive as messages on `source`. */
export function asker(target, source, origin) {
  let lastNumber = 0;
  const waiting = new Map();
  listen(source, "message", ({ data, source: sender }) => {
    if (data?.soak !== "answer" || (sender && sender !== target)) return;
    const { resolve, reject } = waiting.get(data.number) ?? {};
    waiting.delete(data.number);
    if (data.error === undefined) resolve?.(data.value);
    else reject?.(new Error(data.error));
  });
  return (name, params, transfer = []) =>
    new Promise((resolve, reject) => {
      const number = ++lastNumber;
      waiting.set(number, { resolve, reject });
      const message = { soak: "question", number, name, params };
      if (origin === undefined) target.postMessage(message, transfer);
      else target.postMessage(message, origin, transfer);
    });
}

/** Answers each question with the result of the function that the question names. `post` posts the answer. */
export function answer(source, post, functions) {
  listen(source, "message", async ({ data }) => {
    if (data?.soak !== "question") return;
    const { number, name, params } = data;
    try {
      post({ soak: "answer", number, value: await functions[name](params) });
    } catch (error) {
      post({ soak: "answer", number, error: `${name}: ${error.message ?? error}` });
    }
  });
}
