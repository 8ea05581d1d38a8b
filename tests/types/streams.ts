// Tests the types of streams for callers and for handlers, with and without a method map.

import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, type RPCTransport, type StreamSource } from "portway";
import { same, type Equal } from "./equal.js";

interface Api {
  logs: { params: { level: number }; stream: string };
  ticks: { params?: { every: number }; stream: { at: number }; progress: number };
  build: { params: { entry: string }; result: string };
  saved: { params: { path: string } };
}

declare const transport: RPCTransport;
const client = new JSONRPCClient<Api>(transport);
const server = new JSONRPCServer<Api>(transport);

export async function itemsFollowTheMap(signal: AbortSignal): Promise<void> {
  for await (const line of client.stream("logs", { level: 1 })) same<Equal<typeof line, string>>(true);
  for await (const tick of client.stream("ticks")) same<Equal<typeof tick, { at: number }>>(true);
  const lines = client.stream("logs", { level: 1 }, { signal, timeout: 0, window: 4, transfer: [new ArrayBuffer(1)] });
  const first = await lines.next();
  if (!first.done) same<Equal<typeof first.value, string>>(true);
  await lines.return?.();
}

export function wrongStreamsAreRefused(): void {
  // @ts-expect-error unknown method
  client.stream("lags", { level: 1 });
  // @ts-expect-error a method with one result has no stream
  client.stream("build", { entry: "" });
  // @ts-expect-error a notification has no stream
  client.stream("saved", { path: "" });
  // @ts-expect-error missing params
  client.stream("logs");
  // @ts-expect-error wrong params
  client.stream("logs", { level: "1" });
  // @ts-expect-error an option of requests, not of streams
  client.stream("logs", { level: 1 }, { totalTimeout: 1 });
  // @ts-expect-error a method with a stream must be called by `stream`
  void client.request("logs", { level: 1 });
  // @ts-expect-error a method with a stream cannot be in a batch
  void client.batch([{ method: "logs", params: { level: 1 } }]);
}

export function handlersYieldItems(): void {
  server
    .method("logs", async function* ({ level }, { transfer, signal }) {
      same<Equal<typeof level, number>>(true);
      transfer([new ArrayBuffer(1)]);
      while (!signal.aborted) yield `level ${level}`;
    })
    .method("logs", () => ({ next: async () => ({ done: false, value: "line" }) }))
    .method("ticks", async (_, { progress }) => {
      progress(1);
      return (async function* () {
        yield { at: 1 };
      })();
    });
  // @ts-expect-error items of another type
  server.method("logs", async function* () {
    yield 5;
  });
  // @ts-expect-error text is not a stream
  server.method("logs", () => "line");
  // @ts-expect-error an array is not a stream
  server.method("logs", () => ["line"]);
  // @ts-expect-error a method with one result has no stream
  server.method("build", async function* () {
    yield "";
  });
}

export function readableStreamsAreStreams(readable: ReadableStream<string>, numbers: ReadableStream<number>): void {
  server.method("logs", () => readable).method("logs", async () => readable);
  const source: StreamSource<number> = numbers;
  // @ts-expect-error chunks of another type
  server.method("logs", () => numbers);
  void source;
}

export async function withoutAMapAnyStreamCompiles(): Promise<void> {
  const peer = new JSONRPCPeer(transport);
  peer.method("anything", async function* () {
    yield 1;
  });
  for await (const item of peer.stream("anything", { a: 1 })) item.whatever;
  for await (const item of peer.stream<number>("anything")) same<Equal<typeof item, number>>(true);
}

export async function totalTimeoutOfARequest(): Promise<void> {
  await client.request("build", { entry: "" }, { timeout: 100, totalTimeout: 1_000, onProgress: () => {} });
}
