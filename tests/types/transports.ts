// Tests the types of the transports of a page, and of transports that an application writes.

import {
  broadcastTransport,
  initSync,
  JSONRPCClient,
  portTransport,
  selfTransport,
  windowTransport,
  workerTransport,
  type JSONRPCMessage,
  type RPCTransport,
} from "portway";
import init, * as inline from "portway/inline";
import "portway/early";
import { same, type Equal } from "./equal.js";

export function windows(frame: HTMLIFrameElement, event: MessageEvent): void {
  const target = frame.contentWindow!;
  windowTransport(target).destroy();
  windowTransport(target, { origin: "https://a.example" });
  windowTransport(target, { origin: ["https://a.example", "https://b.example"], source: window });
  windowTransport(target, { origin: "null" });
  windowTransport(target, { origin: undefined });
  windowTransport(target, window);
  windowTransport(target, window, "https://a.example");
  windowTransport(target, undefined, "*");
  windowTransport(parent);
  windowTransport(event.source as Window);
  // @ts-expect-error `contentWindow` may be null
  windowTransport(frame.contentWindow);
  // @ts-expect-error an origin must be an option
  windowTransport(target, "https://a.example");
  // @ts-expect-error misspelt option
  windowTransport(target, { origins: "*" });
  // @ts-expect-error an iframe is not a window
  windowTransport(frame);
}

export function channels(worker: Worker, shared: SharedWorker): void {
  const { port1 } = new MessageChannel();
  portTransport(port1).destroy();
  portTransport(shared.port);
  workerTransport(worker).destroy();
  broadcastTransport("name").destroy();
  broadcastTransport(new BroadcastChannel("name"));
  // @ts-expect-error a worker is not a port
  portTransport(worker);
  // @ts-expect-error a port is not a worker
  workerTransport(port1);
  // @ts-expect-error a port is not a window
  windowTransport(port1);
  // @ts-expect-error a worker is not a window
  windowTransport(worker);
  // @ts-expect-error a port is not a broadcast channel
  broadcastTransport(port1);
}

export async function loading(bytes: Uint8Array, module: WebAssembly.Module): Promise<void> {
  const done = await init();
  same<Equal<typeof done, void>>(true);
  await init("/portway_bg.wasm");
  await init(new URL("portway_bg.wasm", import.meta.url));
  await init(fetch("/portway_bg.wasm"));
  await init(new Request("/portway_bg.wasm"));
  await init(bytes);
  await init(bytes.buffer);
  await init(module);
  initSync(bytes);
  initSync(module);
  // @ts-expect-error `initSync` needs bytes or a module
  initSync("/portway_bg.wasm");
  // @ts-expect-error a number is not a source of wasm
  await init(5);
}

export function entriesExportTheSame(): void {
  new inline.JSONRPCClient(inline.portTransport(new MessageChannel().port1));
  same<Equal<typeof inline.default, typeof init>>(true);
}

/** A transport as an object literal. TypeScript infers the types of its members. */
export function literal(port: MessagePort): RPCTransport {
  let handler: ((message: unknown) => void) | undefined;
  port.onmessage = (event) => handler?.(event.data);
  return {
    send: (message, transfer) => port.postMessage(message, transfer ?? []),
    onMessage: (receiver) => {
      handler = receiver;
    },
  };
}

/** A transport as a class that declares the type of its messages and has no `destroy`. */
export class Loopback implements RPCTransport {
  #handler: ((message: JSONRPCMessage) => void) | undefined;
  send(message: JSONRPCMessage): void {
    queueMicrotask(() => this.#handler?.(message));
  }
  onMessage(handler: (message: JSONRPCMessage) => void): void {
    this.#handler = handler;
  }
}
export const client = new JSONRPCClient(new Loopback());

export function wrongTransportsAreRefused(port: MessagePort): void {
  // @ts-expect-error a port is not a transport
  new JSONRPCClient(port);
  // @ts-expect-error `onMessage` is missing
  new JSONRPCClient({ send() {} });
  // @ts-expect-error `selfTransport` has no parameters
  selfTransport(port);
}
