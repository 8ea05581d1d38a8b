// Before Portway, the protocol had another library, which was written by hand. Code for this first library must compile
// with Portway after a change of only its imports. Such code has no method maps. Its params are
// `Record<string, unknown>`, and its transports declare the type of messages.

import {
  JSONRPCClient,
  JSONRPCServer,
  portTransport,
  RPCError,
  selfTransport,
  windowTransport,
  workerTransport,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type JSONRPCSuccessResponse,
  type RPCTransport,
} from "portway";
import { same, type Equal } from "./equal.js";

interface BuildOptions {
  entryPoints?: string[];
  minify?: boolean;
}
declare const esbuild: {
  build(options: BuildOptions): Promise<{ outputFiles: { path: string }[]; warnings: { text: string }[] }>;
};
declare const iframe: HTMLIFrameElement;

export async function sender(worker: Worker): Promise<unknown> {
  const client = new JSONRPCClient(workerTransport(worker));
  const result = await client.request("build", { entry: "src/App.tsx", config: {} });
  return result;
}

export function receiver(): void {
  const server = new JSONRPCServer(selfTransport());
  server.method("build", async (params) => {
    const output = await esbuild.build(params.config);
    return { output: output.outputFiles, warnings: output.warnings };
  });
}

export async function typedAtTheCall(port: MessagePort): Promise<void> {
  const client = new JSONRPCClient(portTransport(port), { timeout: 30_000 });
  const page = await client.request<{ status: number; body: string }>("fetch", { url: "/dist/app.js" });
  same<Equal<typeof page, { status: number; body: string }>>(true);
  const unknown = await client.request("fetch");
  same<Equal<typeof unknown, unknown>>(true);
  const params: Record<string, unknown> = { level: "error", message: "Uncaught TypeError..." };
  client.notify("console", params);
  const maybe: Record<string, unknown> | undefined = params;
  client.notify("console", maybe);
  client.destroy();
}

type Handler = (params: Record<string, unknown> | undefined) => unknown | Promise<unknown>;
type NotificationHandler = (params: Record<string, unknown> | undefined) => void;

export function handlersOfTheFirstLibrary(
  transport: RPCTransport,
  handler: Handler,
  listener: NotificationHandler,
): void {
  const server = new JSONRPCServer(transport);
  server.method("fetch", handler);
  server.onNotify("console", listener);
  server.destroy();
}

export function bothWaysOfAWindow(): void {
  new JSONRPCClient(windowTransport(iframe.contentWindow!, window, "https://preview.example"));
  new JSONRPCServer(windowTransport(window.parent, window));
}

export function failure(error: unknown): string {
  if (!(error instanceof RPCError)) return String(error);
  return `${error.name} ${error.code} ${error.message} ${String(error.data)}`;
}
export const thrown: Error = new RPCError(-32001, "build failed", { diagnostics: [] });

/** A transport that an application wrote for the first library. */
export function adapter(port: MessagePort): RPCTransport {
  let handler: ((msg: JSONRPCMessage) => void) | null = null;
  port.onmessage = (event) => {
    if (event.data?.jsonrpc !== "2.0") return;
    handler?.(event.data);
  };
  return {
    send: (msg) => port.postMessage(msg),
    onMessage: (h) => {
      handler = h;
    },
    destroy: () => {
      port.onmessage = null;
      port.close();
    },
  };
}

/** The transport interface of the first library. Its transports are transports of Portway, and vice versa. */
interface OldTransport {
  send(message: JSONRPCMessage): void;
  onMessage(handler: (message: JSONRPCMessage) => void): void;
  destroy?(): void;
}
export const oldAsNew = (old: OldTransport): RPCTransport => old;
export const newAsOld = (ours: RPCTransport): OldTransport => ours;

export function receive(transport: RPCTransport): void {
  transport.onMessage((message: JSONRPCMessage) => "method" in message && message.method);
}

export const request: JSONRPCRequest = { jsonrpc: "2.0", method: "fetch", params: { url: "/dist/app.js" }, id: 1 };
export const positional: JSONRPCRequest = { jsonrpc: "2.0", method: "add", params: [1, 2], id: "a" };
export const success: JSONRPCSuccessResponse = { jsonrpc: "2.0", result: { status: 200, body: "..." }, id: 1 };
export const missing: JSONRPCErrorResponse = {
  jsonrpc: "2.0",
  error: { code: -32601, message: "Method not found", data: { method: "nonexistent" } },
  id: 1,
};
export const responses: JSONRPCResponse[] = [success, missing];
export const fyi: JSONRPCNotification = { jsonrpc: "2.0", method: "console", params: { level: "error" } };
// @ts-expect-error the version is missing
export const versionless: JSONRPCRequest = { method: "fetch", id: 1 };
