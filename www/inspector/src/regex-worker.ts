// Tests texts with a regular expression, for `RegexWorker`.

interface Task {
  readonly pattern: string;
  readonly texts: readonly string[];
}

addEventListener("message", ({ data }: MessageEvent<Task>) => {
  const expression = new RegExp(data.pattern, "iu");
  const matches = Uint8Array.from(data.texts, (text) => (expression.test(text) ? 1 : 0));
  (self as unknown as { postMessage(message: Uint8Array): void }).postMessage(matches);
});

export {};
