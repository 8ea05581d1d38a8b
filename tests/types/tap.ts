// Tests the types of `portway/tap`: records by their kind, sinks, and the option of `connect`.

import { connect, portTransport, type BuiltInTransport } from "portway";
import { TapRecorder, readTaps, sessionTap, tap, type TapRecord } from "portway/tap";
import { same, type Equal } from "./equal.js";

declare const port: {
  postMessage(message: unknown, transfer?: unknown): void;
  addEventListener(type: unknown, listener: unknown): void;
  removeEventListener(type: unknown, listener: unknown): void;
  start(): void;
  close(): void;
};

const recorder = new TapRecorder({
  sink: port,
  maxBytes: 1_000,
  onError: (error) => same<Equal<typeof error, unknown>>(true),
});
const transport = tap(portTransport(port), { name: "worker", sink: recorder });
same<Equal<typeof transport, BuiltInTransport>>(true);
tap({ send() {}, onMessage() {} }, { sink: "channel" });
tap(portTransport(port));

const textOf = (record: TapRecord): string | undefined => {
  switch (record.kind) {
    case "open":
      return `${record.name}: ${record.transport}`;
    case "message":
      return record.form === "text" ? record.text : `${record.group ?? 0}`;
    case "invalid":
      return record.text ?? record.base64;
    case "gap":
      return (record.messages + record.bytes).toFixed();
    case "close":
      return `${record.code ?? record.reason}`;
  }
};
connect(port, { tap: sessionTap({ name: "preview", sink: async (records) => void records.map(textOf) }) });
const stop = readTaps("portway-tap", (records) => void records.map(textOf));
readTaps(port, async () => {});
readTaps(undefined, () => {});
stop();
recorder.destroy();

// @ts-expect-error: a sink is a function, a port, a name or a recorder.
tap(portTransport(port), { sink: 5 });
// @ts-expect-error: the option is the result of `sessionTap`.
connect(port, { tap: recorder });
