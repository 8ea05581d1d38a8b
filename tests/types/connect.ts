// Tests the types of `connect`: its arguments, and the peer to which it resolves.

import { CallError, connect, type ConnectOptions, type JSONRPCPeer } from "portway";
import { same, type Equal } from "./equal.js";

interface FrameApi {
  navigate: { params: { url: string }; result: null };
}
interface PageApi {
  fetch: { params: { url: string }; result: { body: string } };
  console: { params: { message: string } };
}

export async function targets(frame: HTMLIFrameElement, worker: Worker, shared: SharedWorker): Promise<void> {
  await connect(frame);
  await connect(window.parent, { origin: "https://ide.example" });
  await connect(window.open("/popup")!, { origin: ["https://a.example", "null"] });
  await connect(worker, undefined);
  await connect(shared.port, { channel: "build" });
  // @ts-expect-error `contentWindow` may be null
  await connect(frame.contentWindow);
  // @ts-expect-error a name is not a target
  await connect("frame");
  // @ts-expect-error the origin must be a member of the options object
  await connect(window.parent, "https://ide.example");
}

export async function typedApis(frame: HTMLIFrameElement): Promise<void> {
  const peer = await connect<FrameApi, PageApi>(frame, {
    methods: { fetch: async ({ url }, { signal }) => ({ body: signal.aborted ? "" : url }) },
    notifications: { console: ({ message }) => void message.trim() },
    onSession: ({ number, origin, features }) => void [number.toFixed(), origin?.length, features.includes("cancel")],
    onLost: (error) => void (error.reason === "session-ended" && error.cause),
    timeout: 1_000,
    connectTimeout: 0,
    heartbeat: 5_000,
    signal: AbortSignal.timeout(1_000),
  });
  same<Equal<typeof peer, JSONRPCPeer<FrameApi, PageApi>>>(true);
  await peer.remote.navigate({ url: "/" });
  // @ts-expect-error this peer serves the method and cannot call it
  await peer.request("fetch", { url: "/" });
  // @ts-expect-error the result must have the type that `PageApi` declares
  await connect<FrameApi, PageApi>(frame, { methods: { fetch: () => ({ body: 1 }) } });
  // @ts-expect-error a notification is not a method
  await connect<FrameApi, PageApi>(frame, { methods: { console: () => null } });
  // @ts-expect-error misspelt notification
  await connect<FrameApi, PageApi>(frame, { notifications: { consol: () => {} } });
  // @ts-expect-error misspelt option
  await connect(frame, { origins: "*" });
}

interface LogApi {
  logs: { params: { level: string }; stream: string };
}

export async function streams(port: MessagePort): Promise<void> {
  await connect<{}, LogApi>(port, {
    methods: {
      async *logs({ level }) {
        yield level;
      },
    },
  });
  await connect<{}, LogApi>(port, {
    methods: {
      // @ts-expect-error the items must have the type that `LogApi` declares
      async *logs() {
        yield 1;
      },
    },
  });
}

export function untyped(frame: HTMLIFrameElement): Promise<JSONRPCPeer> {
  const options: ConnectOptions = { methods: { any: (params) => params.thing }, notifications: { note() {} } };
  return connect(frame, options);
}

export function isConnectFailure(error: unknown): boolean {
  return (
    error instanceof CallError &&
    ["no-answer", "wrong-origin", "worker-failed", "incompatible-version", "refused"].includes(error.reason)
  );
}
